#!lua flags=allow-oom
-- Notes a worker's report and forgets silent workers. Then, in a part of the queues, removes waiting workers without a
-- listening process, which would otherwise be woken in place of live ones.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 worker, 3 microseconds until it is forgotten, 4 report.
-- Returns the configuration's version.

-- include base

local QUEUES_A_LOOK, SLEEPERS_A_LOOK, KEPT_MS = 200, 64, 86400000

local listening = {}
local function is_listened_for(sleeper)
  local instance = string.match(sleeper, '@(.*)$')
  if listening[instance] == nil then
    -- A user without permission can't know.
    local found = redis.pcall('PUBSUB', 'NUMSUB', P .. 'instance:' .. instance)
    listening[instance] = found.err ~= nil or found[2] > 0
  end
  return listening[instance]
end

local function forget_sleepers()
  for _, name in ipairs(call('ZRANDMEMBER', P .. 'queues', QUEUES_A_LOOK)) do
    for _, part in ipairs({ 'w', 'b' }) do
      for _, sleeper in ipairs(call('ZRANGE', of(name, part), 0, SLEEPERS_A_LOOK - 1)) do
        if not is_listened_for(sleeper) then
          call('ZREM', of(name, part), sleeper)
        end
      end
    end
  end
end

local workers, expiries = P .. 'workers', P .. 'workers:expiry'
local silent = call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100)
if #silent > 0 then
  call('HDEL', workers, unpack(silent))
  call('HDEL', P .. 'picky', unpack(silent))
  call('ZREM', expiries, unpack(silent))
  -- Long leases may outlive the report: the loss of their worker must still be judged.
  for _, worker in ipairs(silent) do
    call('PEXPIRE', P .. 'leased:' .. worker, KEPT_MS)
  end
  forget_sleepers()
end
local known = call('HGET', workers, ARGV[2])
local started_at = known and sub(known, @report.expires_at) > NOW and sub(known, @report.started_at) or NOW
local expires_at = format('%016.0f', now + ARGV[3])
call('HSET', workers, ARGV[2], started_at .. expires_at .. NOW .. ARGV[4])
call('ZADD', expiries, expires_at, ARGV[2])
return call('HGET', P .. 'config', 'version') or '0'
