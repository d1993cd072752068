-- Ends signals from outside: they came, timed out, or are not needed.

-- include external

-- Ends an open signal of a waiting task. Returns whether the task then moves, and if the signal aborts it an empty cause.
local function end_signal(id, name, state)
  local signals, before = read_signals(call('HGET', COUNTS, id) or '')
  for i, signal in ipairs(signals) do
    if name_of(signal) == name and is_open(signal) then
      local total, count = read_counts(before)
      signals[i] = ended_signal(signal, state)
      call('HSET', COUNTS, id, write_signals(write_counts(total, count + 1), signals))
      call('ZREM', TIMEOUTS, timeout_entry(id, signal))
      local is_aborted = state == @signal_state.timed_out and sub(signal, @signal.on_timeout) == @on_timeout.abort
      return is_aborted or count + 1 >= total, is_aborted and ''
    end
  end
end

-- Ends signals of tasks, in this order: {id, name, its new state}; and moves the tasks that wait for nothing else, or are
-- aborted.
local function end_signals(ended)
  local has_moved, moves = {}, new_moves()
  for _, one in ipairs(ended) do
    local id, name, state = unpack(one)
    local record = not has_moved[id] and call('HGET', T, id)
    if record and byte(record) == @state.waiting.byte then
      local is_moved, cause = end_signal(id, name, state)
      if is_moved then
        has_moved[id] = true
        add_move(moves, id, record, cause)
      end
    end
  end
  if moves.ids[1] then
    leave_waiting(moves)
  end
end

-- A task has ended: the signals that it still waited for are not needed.
local function drop_signals(id)
  local signals, before = read_signals(call('HGET', COUNTS, id) or '')
  local has_open = false
  for i, signal in ipairs(signals) do
    if is_open(signal) then
      has_open, signals[i] = true, ended_signal(signal, @signal_state.unneeded)
      call('ZREM', TIMEOUTS, timeout_entry(id, signal))
    end
  end
  if has_open then
    call('HSET', COUNTS, id, write_signals(before, signals))
  end
end
