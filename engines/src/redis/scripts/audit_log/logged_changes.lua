#!lua flags=no-writes
-- Logged changes after a number, in the order in which they were logged.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 that number, 3 a limit, 4 at most about how many bytes, or one
-- change.
-- Returns {the present, how many there are, id, the change as it is stored, its outcome or nothing, …}.

-- include base

local changes, bytes = P .. 'changes', 0
local answer = { NOW, call('HLEN', changes) }
for _, id in ipairs(call('ZRANGEBYSCORE', changes .. ':order', '(' .. ARGV[2], '+inf', 'LIMIT', 0, ARGV[3])) do
  local change, outcome = call('HGET', changes, id) or '', call('HGET', changes .. ':outcomes', id) or ''
  bytes = bytes + #change + #outcome
  if #answer > 2 and bytes > tonumber(ARGV[4]) then
    break
  end
  answer[#answer + 1] = id
  answer[#answer + 1] = change
  answer[#answer + 1] = outcome
end
return answer
