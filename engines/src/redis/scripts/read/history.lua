#!lua flags=no-writes
-- The history of queues.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 1 if the hours that are closed are wanted too, 3- queues.
-- Returns {the present in microseconds, for each queue {its minutes with the open hour, closed hours, …}}: see `keys.rs`.

-- include base

local answer = { NOW }
for i = 3, #ARGV do
  local hours = ARGV[2] == @flag.yes and call('LRANGE', of(ARGV[i], 'o'), 0, -1) or {}
  answer[i - 1] = { call('GET', of(ARGV[i], 'm')) or '', unpack(hours) }
end
return answer
