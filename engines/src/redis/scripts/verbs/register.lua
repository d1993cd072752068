#!lua flags=allow-oom
-- Notes a worker's report and forgets silent workers. Then, in a part of the queues, removes waiting workers without a
-- listening process, which would otherwise be woken in place of live ones. A report that says the same again is not
-- written.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 worker, 3 microseconds until it is forgotten, 4 report,
-- 5 the process, if it can renew without a write.
-- Returns {the configuration's version, the channel to subscribe to in place of a write}.

-- include base heartbeats

local QUEUES_A_LOOK, SLEEPERS_A_LOOK, KEPT_MS = 200, 64, 86400000
-- Quiet workers that a report looks after.
local QUIET_A_LOOK = 4

local listening = {}
local function is_listened_for(sleeper)
  local instance = string.match(sleeper, '@(.*)$')
  if listening[instance] == nil then
    listening[instance] = is_connected(instance)
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

local function report_of(worker)
  local report = call('HGET', workers, worker)
  return report, report and ends_at('worker:' .. worker, sub(report, @report.expires_at)) > NOW
end

local silent = call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100)
for _, record in ipairs(call('HRANDFIELD', P .. 'quiet', QUIET_A_LOOK)) do
  local worker = string.match(record, '^worker:(.*)$')
  if worker and not select(2, report_of(worker)) then
    silent[#silent + 1] = worker
  end
end
local known, is_alive = report_of(ARGV[2])
if #silent > 0 then
  call('HDEL', workers, unpack(silent))
  call('HDEL', P .. 'picky', unpack(silent))
  call('ZREM', expiries, unpack(silent))
  -- Long leases may outlive the report: the loss of their worker must still be judged.
  for _, worker in ipairs(silent) do
    call('PEXPIRE', P .. 'leased:' .. worker, KEPT_MS)
    call('HDEL', P .. 'quiet', 'worker:' .. worker)
  end
  forget_sleepers()
end
local version, ttl = call('HGET', P .. 'config', 'version') or '0', tonumber(ARGV[3])
local expires_at = format('%016.0f', now + ttl)
if is_alive and ARGV[5] ~= '' and sub(known, @report.rest.at) == ARGV[4]
  and sub(known, @report.expires_at) - sub(known, @report.seen_at) == ttl and sub(known, @report.expires_at) <= expires_at then
  local channel = beat('worker:' .. ARGV[2], ttl, ARGV[5])
  if channel then
    call('ZREM', expiries, ARGV[2])
    return { version, channel }
  end
end
local started_at = is_alive and sub(known, @report.started_at) or NOW
call('HSET', workers, ARGV[2], started_at .. expires_at .. NOW .. ARGV[4])
call('ZADD', expiries, expires_at, ARGV[2])
call('HDEL', P .. 'quiet', 'worker:' .. ARGV[2])
return { version, false }
