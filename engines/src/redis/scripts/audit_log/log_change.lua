#!lua flags=allow-oom
-- Logs a change that begins. With `allow-oom`: a change may be what drains a full server, and few wait.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id, 3 record, 4 how many changes may wait.
-- Returns 1, or 0 if as many wait as may.

-- include base numbers

local changes = P .. 'changes'
if call('HEXISTS', changes, ARGV[2]) == 1 then
  return 1
end
if call('HLEN', changes) >= tonumber(ARGV[4]) then
  return 0
end
local high, low, next_high = take_numbers(1)
local number = number_at(high, low, next_high, 0)
call('HSET', changes, ARGV[2], number .. NOW .. ARGV[3])
call('ZADD', changes .. ':order', number, ARGV[2])
return 1
