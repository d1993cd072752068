-- The audit of edges between tasks, and of signals from outside.

-- include left_due

-- Whether the end of a task must still be signalled to its successors. Assumed while these are too many to look through.
local function is_put_off(id)
  if call('ZCARD', DUE) > COUNTED then
    return true
  end
  for _, entry in ipairs(call('ZRANGE', DUE, 0, -1)) do
    if sub(entry, @ending_due.rest.at) == id then
      return true
    end
  end
  return false
end

-- Whether a waiting task has as many edges and open signals as it counts, and whether the signals would time out.
local function check_edges(name, id, record)
  local counts = call('HGET', COUNTS, id) or write_counts(0, 0)
  local total, signals = read_counts(counts)
  local first = '[' .. id .. ZERO .. sub(record, @lease.position)
  local open = call('ZLEXCOUNT', IN, first, '(' .. id .. '\1') + count_open(counts)
  for _, signal in ipairs((read_signals(counts))) do
    local due, entry = timeout_of(signal), timeout_entry(id, signal)
    if due and tonumber(call('ZSCORE', TIMEOUTS, entry) or 0) ~= tonumber(due) then
      note('unplaced', id, 'it waits for the signal ' .. name_of(signal) .. ', which would not time out', function()
        call('ZADD', TIMEOUTS, due, entry)
      end)
    end
  end
  if open == 0 and signals == total then
    note('unplaced', id, 'it waits, and all of its ' .. total .. ' dependencies are signalled', function()
      local position = sub(record, @lease.position)
      if link_in(record) == @linked.spontaneous then
        -- The next step ends it, as it stores a piece of no edges.
        call('RPUSH', PIECES, position .. @flag.no .. id .. ZERO)
        call('ZADD', DUE, 0, LEFT_DUE)
        return
      end
      call('HSET', T, id, @state.submitted .. sub(record, @record.revision.at))
      call('ZREM', of(name, 'd'), id)
      call('ZADD', of(name, 'r'), score_of(sub(record, @lease.priority), position), id)
    end)
  elseif open ~= total - signals and call('EXISTS', PIECES) == 0 then
    note('unplaced', id, 'it waits for ' .. total - signals .. ' tasks and signals, and ' .. open .. ' are there')
  end
end

-- Edges by successor: whether these wait, and whether an end will come that signals them.
local function audit_edges()
  local found = scan('ZSCAN', IN, limit)
  for i = 1, #found[2], 2 do
    local entry = found[2][i]
    local id, since, on, policy = read_edge(entry)
    local record, predecessor = call('HGET', T, id), call('HGET', T, on)
    local other = edge_entry(on, since, id, policy)
    looked_at = looked_at + 1
    if not record or byte(record) ~= @state.waiting.byte or since < sub(record, @lease.position) then
      if not is_put_off(id) then
        note('orphan', id, 'it has an edge from ' .. on .. ' and does not wait', function()
          call('ZREM', IN, entry)
          call('ZREM', OUT, other)
        end)
      end
    elseif not call('ZSCORE', OUT, other) then
      note('unplaced', id, 'the end of ' .. on .. ', which it waits for, would not be signalled', function()
        call('ZADD', OUT, 0, other)
      end)
    elseif (not predecessor or is_over(predecessor)) and not is_put_off(on) then
      note('unplaced', id, 'it waits for ' .. on .. ', which is over or gone', predecessor and function()
        put_off_end(on, status_of(predecessor), sub(predecessor, @record.revision))
      end or nil)
    elseif predecessor and not is_over(predecessor) and link_in(predecessor) == @linked.no then
      note('unplaced', id, 'it waits for ' .. on .. ', whose record does not say that it is linked')
    end
  end
  return found[1]
end

-- Edges by predecessor: whether their successors have them too.
local function audit_edges_out()
  local found = scan('ZSCAN', OUT, limit)
  for i = 1, #found[2], 2 do
    local on, since, id, policy = read_edge(found[2][i])
    looked_at = looked_at + 1
    if not call('ZSCORE', IN, edge_entry(id, since, on, policy)) then
      note('orphan', on, 'it has an edge to ' .. id .. ', which does not wait for it', function()
        call('ZREM', OUT, found[2][i])
      end)
    end
  end
  return found[1]
end

-- Times until which signals must come: whether their tasks wait for them.
local function audit_timeouts()
  local found = scan('ZSCAN', TIMEOUTS, limit)
  for i = 1, #found[2], 2 do
    local entry = found[2][i]
    local id, is_awaited = sub(entry, 1, string.find(entry, ZERO, 1, true) - 1), false
    looked_at = looked_at + 1
    for _, signal in ipairs((read_signals(call('HGET', COUNTS, id) or ''))) do
      is_awaited = is_awaited or timeout_of(signal) and timeout_entry(id, signal) == entry
    end
    if not is_awaited then
      note('orphan', id, 'a signal that it does not wait for would time out', function()
        call('ZREM', TIMEOUTS, entry)
      end)
    end
  end
  return found[1]
end
