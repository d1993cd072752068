-- Vanished workers: what each held when the first of its leases was taken back (common's `suspicion.rs`). Included,
-- behind `held`, where leases are taken back.

-- How many leases one loss reads: those that end first, among which are the leases of a dead worker.
local MAX_LOOKED_AT = 1000

-- How many leases a worker holds, counted up to two. It claimed from the queues of the set `leased:<worker>`.
local function count_leases(worker)
  local count, left = 0, MAX_LOOKED_AT
  for _, name in ipairs(call('SMEMBERS', P .. 'leased:' .. worker)) do
    local ids = call('ZRANGE', of(name, 'l'), 0, math.max(left, 1) - 1)
    left = left - #ids
    for _, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
      if record and is_running(record) and worker_of(record) == worker then
        count = count + 1
        if count == 2 then
          return count
        end
      end
    end
  end
  return count
end

-- The loss of a lease: {at, suspects, leases}. It begins now if this lease is its first.
local function loss_of(lease)
  local worker, started_at = worker_of(lease), sub(lease, @lease.started_at)
  local key = P .. 'loss:' .. worker
  local known = call('GET', key)
  if known and started_at < sub(known, @loss.at) then
    return tonumber(sub(known, @loss.suspects)), tonumber(sub(known, @loss.leases))
  end
  local suspects, leases = min(held_by(worker).count, 99), 0
  if suspects == 0 then
    leases = count_leases(worker)
  end
  call('SET', key, STAMP .. format('%02d%02d', suspects, leases), 'PX', KEPT_MS)
  return suspects, leases
end

-- The effect of a worker's loss on a task: its new suspicion, and its blames.
local function judge_loss(lease)
  local level, blames = tonumber(sub(lease, @lease.suspicion)), byte(lease, @lease.blames.at)
  local suspects, leases = loss_of(lease)
  local is_one_of_them, count = suspects == 0 or level > 0, suspects == 0 and leases or suspects
  if is_one_of_them and count == 1 then
    return #CAPACITIES, min(blames + 1, 255), true
  end
  return min(level + 1, #CAPACITIES), blames, false
end
