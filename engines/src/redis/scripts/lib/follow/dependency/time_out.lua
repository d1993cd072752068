-- Times out signals from outside that have not come in time: a bounded number. Returns whether there may be more.

local function time_out(most)
  -- include dependencies
  local late, ended = call('ZRANGE', TIMEOUTS, '-inf', NOW, 'BYSCORE', 'LIMIT', 0, most), {}
  for i, entry in ipairs(late) do
    local zero = string.find(entry, ZERO, 1, true)
    ended[i] = { sub(entry, 1, zero - 1), sub(entry, zero + 1), @signal_state.timed_out }
  end
  -- An entry without an open signal would be found again and again.
  spread('ZREM', TIMEOUTS, late)
  end_signals(ended)
  write_moves(true)
  return #late == most
end
