-- Stores schedules, each under a new revision.

local SCHEDULES, BY_NAME, BY_TIME = P .. 'schedules', P .. 'schedules:order', P .. 'schedules:due'

-- The digits of a stored schedule's revision; nothing if no schedule has this name.
local function revision_of(name)
  local stored = call('HGET', SCHEDULES, name)
  return stored and sub(stored, @schedule.revision)
end

-- Stores a schedule, due at a time or never. Returns its new revision.
local function store_schedule(name, next_at, entry)
  local high, low, next_high = take_numbers(1)
  local revision = number_at(high, low, next_high, 0)
  call('HSET', SCHEDULES, name, revision .. entry)
  call('ZADD', BY_NAME, 0, name)
  if next_at == '' then
    call('ZREM', BY_TIME, name)
  else
    call('ZADD', BY_TIME, next_at, name)
  end
  return revision
end
