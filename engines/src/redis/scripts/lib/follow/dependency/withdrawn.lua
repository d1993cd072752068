-- Tasks that are removed before their end: their successors must be signalled.

-- Forgets until when the signals of a task must come.
local function forget_timeouts(id)
  -- include edges external
  for _, signal in ipairs((read_signals(call('HGET', COUNTS, id) or ''))) do
    call('ZREM', TIMEOUTS, timeout_entry(id, signal))
  end
end

-- Notes those of these tasks that are linked. For their successors this is their end; edges made since the revision
-- `before` belong to the tasks that take their place.
local function note_withdrawn(ids, found, status, before)
  for i, record in ipairs(found) do
    if record and byte(record, core_at(record) - 1 + @core.linked.at) ~= @linked.no.byte then
      local has_waited = byte(record) == @state.waiting.byte
      if has_waited then
        forget_timeouts(ids[i])
      end
      ended_links[#ended_links + 1] =
        { id = ids[i], status = status, before = before, has_waited = has_waited, is_gone = true }
    end
  end
end
