-- A task was sent again, or has replaced one of its id: if it is one of a run whose tasks are all submitted, the run is due
-- under another revision. So a manager that has just looked at the run looks again.
local function touch_run(id)
  local run = string.match(id, '^(.*)/')
  local stored = run and call('HGET', P .. 'workflows', run)
  if stored and sub(stored, @run.state) ~= @run_state.submitting then
    local high, low, next_high = take_numbers(1)
    call('HSET', P .. 'workflows', run, number_at(high, low, next_high, 0) .. sub(stored, @run.state.at))
    call('ZADD', P .. 'workflows:due', NOW, run)
  end
end
