#!lua flags=allow-oom
-- Stores a catalogue of tasks, or extends its life, and deletes expired ones.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 its digest, 3 microseconds to keep it, 4 its text.
-- Returns 1.

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
