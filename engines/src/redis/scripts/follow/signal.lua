#!lua flags=allow-oom
-- Sends a signal from outside to a task, and releases the task if it then waits for nothing.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the task's id, 3 the signal's name.
-- Returns `d` and the digit of the task's status now; `l` and the letter of the signal's state if the task no longer waits for
-- it; `n` if the task has no such signal, `u` if the task does not exist.

-- include base numbers wake moves

local id, name = ARGV[2], ARGV[3]

local function signal_task()
  -- include dependencies
  for _, signal in ipairs((read_signals(call('HGET', COUNTS, id) or ''))) do
    if name_of(signal) == name then
      if not is_open(signal) then
        return @signalled.late .. sub(signal, @signal.state)
      end
      end_signals({ { id, name, @signal_state.received } })
      write_moves(true)
      return @signalled.done .. status_of(call('HGET', T, id))
    end
  end
  return @signalled.unknown_signal
end

return call('HEXISTS', T, id) == 1 and signal_task() or @signalled.unknown_task
