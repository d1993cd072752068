#!lua flags=no-writes
-- Reads the configuration, unless the caller has it, and whether some queues exist.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the version that the caller has, or nothing, 3- queues.
-- Returns {{field, value, …} or nothing if the caller has it, 1 if a queue exists else 0, …}.

-- include base

local config, answer = P .. 'config', { false }
if call('HGET', config, 'version') ~= ARGV[2] then
  answer[1] = call('HGETALL', config)
end
for i = 3, #ARGV do
  answer[i - 1] = call('ZSCORE', P .. 'queues', ARGV[i]) and 1 or 0
end
return answer
