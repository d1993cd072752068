#!lua flags=allow-oom
-- Forgets the awaited tasks of processes that are gone, in pieces.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 `awaited` or `awaited:groups`, 3 cursor, then these processes.
-- Returns the next cursor, 0 at the end. At the end of `awaited`, which comes last, the processes are forgotten too.

-- include base

local awaited = P .. ARGV[2]
local scanned = call('HSCAN', awaited, ARGV[3], 'COUNT', 500)
local cursor, found = scanned[1], scanned[2]
for i = 1, #found, 2 do
  local id, waiting = found[i], found[i + 1]
  local others = waiting
  for j = 4, #ARGV do
    others = string.gsub(others, ARGV[j] .. '=%d+;', '')
  end
  if others == '' then
    call('HDEL', awaited, id)
  elseif others ~= waiting then
    call('HSET', awaited, id, others)
  end
end
if cursor == '0' and ARGV[2] == 'awaited' then
  call('ZREM', P .. 'awaiting', unpack(ARGV, 4))
end
return cursor
