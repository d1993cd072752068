#!lua flags=allow-oom
-- Keeps a catalogue of tasks, for longer if it is there, and forgets those whose time is over.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 its digest, 3 microseconds to keep it, 4 its text.
-- Answers 1.

-- include base

local catalogues, expiries = P .. 'catalogues', P .. 'catalogues:expiry'
local over = call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100)
if #over > 0 then
  call('HDEL', catalogues, unpack(over))
  call('ZREM', expiries, unpack(over))
end
call('HSET', catalogues, ARGV[2], ARGV[4])
call('ZADD', expiries, format('%016.0f', now + ARGV[3]), ARGV[2])
return 1
