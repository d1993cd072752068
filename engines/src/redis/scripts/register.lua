#!lua flags=allow-oom
-- Notes a worker's report and forgets those that fell silent.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 worker, 3 microseconds until it is forgotten, 4 report.
-- Answers the configuration's version.

-- include base

local workers, expiries = P .. 'workers', P .. 'workers:expiry'
local silent = call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100)
if #silent > 0 then
  call('HDEL', workers, unpack(silent))
  call('ZREM', expiries, unpack(silent))
end
local known = call('HGET', workers, ARGV[2])
local started_at = known and sub(known, 17, 32) > NOW and sub(known, 1, 16) or NOW
local expires_at = format('%016.0f', now + ARGV[3])
call('HSET', workers, ARGV[2], started_at .. expires_at .. NOW .. ARGV[4])
call('ZADD', expiries, expires_at, ARGV[2])
return call('HGET', P .. 'config', 'version') or '0'
