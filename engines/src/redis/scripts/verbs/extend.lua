#!lua flags=allow-oom
-- Renews leases by their fences, and notes heartbeats, progress and checkpoints. An expired lease is renewed too, unless
-- it was reclaimed.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 lease in microseconds, 3 the worker; for each task five: id, the fence's 15
-- digits, h for a heartbeat or nothing, its progress (`-` leaves it), its checkpoint (`-` leaves it, else after a `+`).
-- Returns a letter for each: e extended, c extended and a cancel is requested, l lost.

-- include base numbers wake moves batches own_leases heard

local HEARD = 'h'

local ids, answers, expiries = {}, {}, {}
for i = 4, #ARGV, 5 do
  ids[#ids + 1] = ARGV[i]
end
local expires_at, worker = format('%d', now + ARGV[2]), ARGV[3]
local leases = call('HMGET', T, unpack(ids))

-- Notes that an entry of a queue's `l` ends later.
local function note_end(name, entry)
  expiries[name] = expiries[name] or {}
  push(expiries[name], expires_at, entry)
end

-- By batch: the tasks to renew.
local renewed = {}

-- Notes a task to renew that runs in a batch. Returns whether it does.
local function renew_in_batch(id, fence, record)
  local batch, at = batch_by(id, fence, record)
  if not batch or batch.worker ~= worker then
    return false
  end
  local tasks = renewed[batch] or { ids = {}, ids_at = {}, records = {}, is_known = {} }
  renewed[batch] = tasks
  if not tasks.is_known[id] then
    local count = #tasks.ids + 1
    tasks.ids[count], tasks.ids_at[count], tasks.records[count], tasks.is_known[id] = id, at, record, true
  end
  return true
end

-- Renews a batch if all that is left of it is renewed; else these tasks get leases of their own.
local function renew_batch(batch, tasks)
  if #tasks.ids >= tonumber(call('HGET', of(batch.name, 'c'), @batches.left .. batch.fence)) then
    return note_end(batch.name, @leases.batch .. batch.fence)
  end
  for i, id in ipairs(tasks.ids) do
    own_lease(id, batch, tasks.ids_at[i], tasks.records[i])
    note_end(batch.name, id)
  end
end

local function renew(id, fence, lease)
  if not lease then
    return @extended.lost
  elseif byte(lease) == @state.fresh.byte then
    return renew_in_batch(id, fence, lease) and @extended.done or @extended.lost
  elseif not is_running(lease) or sub(lease, @lease.revision) ~= fence or worker_of(lease) ~= worker then
    return @extended.lost
  end
  note_end(queue_of(lease), id)
  return byte(lease) == @state.cancelling.byte and @extended.cancelling or @extended.done
end

for i, id in ipairs(ids) do
  local at = 4 + 5 * (i - 1)
  answers[i] = renew(id, ARGV[at + 1], leases[i])
  if answers[i] ~= @extended.lost and ARGV[at + 2] == HEARD then
    call('HSET', X, id, heard(call('HGET', X, id), ARGV[at + 3], ARGV[at + 4]))
  end
end
for batch, tasks in pairs(renewed) do
  renew_batch(batch, tasks)
end
leave_batches()
for name, pairs_of_queue in pairs(expiries) do
  spread('ZADD', of(name, 'l'), pairs_of_queue)
  call('ZADD', P .. 'expiring', 'LT', expires_at, name)
end
return table.concat(answers)
