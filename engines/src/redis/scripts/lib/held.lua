-- The suspects that a worker holds: the set `held:<worker>` names them, and their records decide whether it still does.

local CAPACITIES, KEPT_MS = @suspicion.capacities, 86400000

-- How many suspects a worker may hold while one of them is of this level.
local function capacity_of(level)
  return CAPACITIES[level] or math.huge
end

-- How many suspects a worker holds, and the highest level among them.
local function held_by(worker)
  local held, ids = { count = 0, highest = 0 }, call('SMEMBERS', P .. 'held:' .. worker)
  for i, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
    local level = record and is_running(record) and worker_of(record) == worker and tonumber(sub(record, @lease.suspicion))
    if level and level > 0 then
      held.count, held.highest = held.count + 1, math.max(held.highest, level)
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
