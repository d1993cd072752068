#!lua
-- Stores a session of the pages. Those that have ended are forgotten, and of too many those that end first.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id, 3 microseconds, 4 session, 5 how many are kept.

-- include base

local sessions, expiries = P .. 'sessions', P .. 'sessions:expiry'
call('HSET', sessions, ARGV[2], ARGV[4])
call('ZADD', expiries, min(now + ARGV[3], 9e15), ARGV[2])

local function forget(ended)
  if #ended > 0 then
    call('HDEL', sessions, unpack(ended))
    call('ZREM', expiries, unpack(ended))
  end
end
forget(call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100))
local surplus = call('ZCARD', expiries) - ARGV[5]
if surplus > 0 then
  forget(call('ZRANGE', expiries, 0, min(surplus, 100) - 1))
end
