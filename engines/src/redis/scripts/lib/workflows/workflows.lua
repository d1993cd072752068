-- Runs of workflows: how one is stored, under a new revision, and found.

local RUNS, DEFINITIONS = P .. 'workflows', P .. 'workflows:definitions'
local BY_AGE, BY_STATE, BY_TIME = P .. 'workflows:order', P .. 'workflows:state:', P .. 'workflows:due'

-- A run as it is stored, or nothing.
local function run_of(id)
  return call('HGET', RUNS, id)
end

-- Takes a run out of the places where it is found.
local function displace_run(id, stored)
  local placed = sub(stored, @run.created_at) .. id
  call('ZREM', BY_AGE, placed)
  call('ZREM', BY_STATE .. sub(stored, @run.state), placed)
  call('ZREM', BY_TIME, id)
end

-- Stores a run, due at a time or never. Answers its new revision.
local function store_run(id, next_at, state, created_at, run)
  local high, low, next_high = take_numbers(1)
  local revision = number_at(high, low, next_high, 0)
  call('HSET', RUNS, id, revision .. state .. created_at .. run)
  call('ZADD', BY_AGE, 0, created_at .. id)
  call('ZADD', BY_STATE .. state, 0, created_at .. id)
  if next_at ~= '' then
    call('ZADD', BY_TIME, next_at, id)
  end
  return revision
end
