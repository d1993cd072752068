-- Sends signals that earlier steps left: a bounded number of edges. Lets go of what removed tasks still hold. Stores edges that
-- are left of tasks which wait for many others.

-- include edges

local ENDS_A_CHORE, LEAST_SIGNALS = 400, 100

local function signal_put_off()
  local due = call('ZRANGE', DUE, 0, ENDS_A_CHORE - 1)
  spread('ZREM', DUE, due)
  for i, entry in ipairs(due) do
    local state = sub(entry, @ending_due.state)
    ended_links[i] = { id = sub(entry, @ending_due.rest.at), status = state,
      before = sub(entry, @ending_due.before), was_put_off = true,
      has_waited = state == @gone.waited, is_gone = true }
  end
  -- The less the step has signalled itself, the more.
  signals_left = math.max(signals_left, LEAST_SIGNALS)
  write_moves(true)
  if call('EXISTS', P .. 'g:left') == 1 then
    -- include parents
    let_go_left()
  end
  if call('EXISTS', PIECES) == 1 then
    -- include link_pieces
    link_pieces()
  end
end
