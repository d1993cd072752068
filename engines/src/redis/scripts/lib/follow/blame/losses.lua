-- Vanished workers: what each held when the first of its leases was taken back (common's `suspicion.rs`). Included,
-- behind `held`, where leases are taken back.

-- How many leases one loss reads: those that end first, among which are the leases of a dead worker.
local MAX_LOOKED_AT = 1000

-- How many leases a worker holds, counted up to two. It claimed from the queues of the set `leased:<worker>`.
local function count_leases(worker)
  local count, left = 0, MAX_LOOKED_AT
  for _, name in ipairs(call('SMEMBERS', P .. 'leased:' .. worker)) do
    local entries, ids = call('ZRANGE', of(name, 'l'), 0, math.max(left, 1) - 1), {}
    left = left - #entries
    for _, entry in ipairs(entries) do
      local batch, is_batch = batch_by_entry(name, entry)
      if batch and batch.worker == worker then
        count = count + #held_in(batch)
      elseif not is_batch then
        ids[#ids + 1] = entry
      end
    end
    if count >= 2 then
      return 2
    end
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

-- How suspect a task is after one more loss, as it is written (see `suspicion_in`). Its lease ended at this time.
local function lost_again(lease, expires_at)
  local losses = min(suspicion_in(lease) + 1, #CAPACITIES)
  local ran_s = math.ceil((expires_at - unpack_at('>I7', lease, @lease.started_at.at)) / 1e6) - @suspicion.unrenewed
  ran_s = min(math.max(ran_s, @suspicion.shortest_run), @suspicion.longest_run)
  return string.char(@suspicion.none.byte + losses + @suspicion.step * (@suspicion.longest_run - ran_s))
end

-- The blames of a task after the loss of its worker, and whether it is blamed: only the only suspect is.
local function judge_loss(lease)
  local blames, suspects, leases = byte(lease, @lease.blames.at), loss_of(lease)
  if suspects == 0 and leases == 1 or suspects == 1 and suspicion_in(lease) > 1 then
    return min(blames + 1, 255), true
  end
  return blames, false
end
