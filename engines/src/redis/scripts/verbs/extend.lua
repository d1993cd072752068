#!lua flags=allow-oom
-- Renews leases by their fences, and notes heartbeats, progress and checkpoints. An expired lease is renewed too, unless
-- it was reclaimed.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 lease in microseconds, 3 the worker; for each task five: id, the fence's 15
-- digits, h for a heartbeat or nothing, its progress (`-` leaves it), its checkpoint (`-` leaves it, else after a `+`).
-- Returns a letter for each: e extended, c extended and a cancel is requested, l lost.

-- include base numbers wake moves heard

local HEARD = 'h'

local ids, answers, expiries = {}, {}, {}
for i = 4, #ARGV, 5 do
  ids[#ids + 1] = ARGV[i]
end
local expires_at = format('%.0f', now + ARGV[2])
local leases = call('HMGET', T, unpack(ids))
for i, id in ipairs(ids) do
  local at, lease = 4 + 5 * (i - 1), leases[i]
  if lease and is_running(lease) and sub(lease, @lease.revision) == ARGV[at + 1] and worker_of(lease) == ARGV[3] then
    local name = queue_of(lease)
    expiries[name] = expiries[name] or {}
    push(expiries[name], expires_at, id)
    if ARGV[at + 2] == HEARD then
      call('HSET', X, id, heard(call('HGET', X, id), ARGV[at + 3], ARGV[at + 4]))
    end
    answers[i] = byte(lease) == @state.cancelling.byte and @extended.cancelling or @extended.done
  else
    answers[i] = @extended.lost
  end
end
for name, pairs_of_queue in pairs(expiries) do
  spread('ZADD', of(name, 'l'), pairs_of_queue)
  call('ZADD', P .. 'expiring', 'LT', expires_at, name)
end
return table.concat(answers)
