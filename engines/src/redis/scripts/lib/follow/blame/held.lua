-- The suspects that a worker holds: the set `held:<worker>` names them, and their records decide whether it still does.

-- Both by losses in a row: how many suspects on probation a worker may hold, and how many times the run a probation is.
local CAPACITIES, FACTORS, KEPT_MS = @suspicion.capacities, @suspicion.factors, 86400000

-- When the probation of a suspect ends that starts at this time.
local function probation_end(record, started_at)
  local losses, ran_s = suspicion_in(record)
  return started_at + ran_s * FACTORS[losses] * 1e6
end

-- Counts a suspect that starts at this time, if it is on probation.
local function count_held(held, record, started_at)
  local ends = probation_end(record, started_at)
  if ends > now then
    held.on_probation, held.most = held.on_probation + 1, math.max(held.most, (suspicion_in(record)))
    held.first_end = min(held.first_end, ends)
  end
end

-- Whether a worker may take a task that was lost so often, beside those it holds.
local function may_add(held, losses)
  return losses < 2 or held.on_probation < CAPACITIES[math.max(losses, held.most)]
end

-- The suspects that a worker holds: how many; and of those on probation how many, the most losses of one of them, and
-- when the first of these probations ends.
local function held_by(worker)
  local held = { count = 0, on_probation = 0, most = 1, first_end = math.huge }
  local ids = call('SMEMBERS', P .. 'held:' .. worker)
  for i, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
    if record and is_running(record) and worker_of(record) == worker and suspicion_in(record) > 1 then
      held.count = held.count + 1
      count_held(held, record, (unpack_at('>I7', record, @lease.started_at.at)))
    else
      call('SREM', P .. 'held:' .. worker, ids[i])
    end
  end
  return held
end

local function hold(worker, ids)
  if ids[1] then
    spread('SADD', P .. 'held:' .. worker, ids)
    call('PEXPIRE', P .. 'held:' .. worker, KEPT_MS)
  end
end
