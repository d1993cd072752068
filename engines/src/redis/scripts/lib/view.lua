-- Everything about one task, as Rust puts it together (`state.rs`).

local function standing(id, record, state)
  local kind = state and byte(state)
  if kind == 70 then
    return sub(state, 2, 2), ''
  elseif kind then
    return '3', call('ZSCORE', of(queue_of(record), 'l'), id) or ''
  end
  local due = call('ZSCORE', of(queue_of(record), 's'), id)
  if due then
    return '1', due
  end
  return '2', call('ZSCORE', of(queue_of(record), 'r'), id) or call('ZSCORE', of(queue_of(record), 'p'), id) or ''
end

-- {id, record, status, place, state, carry, news}: place is the lease's end, the time due or the score in the queue.
-- nil for an unknown task. A `slim` view leaves result and checkpoint out.
local function view(id, slim)
  local record = call('HGET', T, id)
  if not record then
    return nil
  end
  local state = call('HGET', M, id)
  local status, place = standing(id, record, state)
  if slim and state and byte(state) == 70 then
    state = sub(state, 1, string.find(state, '\n', 81, true))
  end
  local news = call('HGET', X, id) or ''
  if slim and news ~= '' then
    local fixed = byte(news) == 84 and 78 or 22
    news = sub(news, 1, fixed + sub(news, fixed - 5, fixed))
  end
  return { id, record, status, place, state or '', call('HGET', A, id) or '', news }
end
