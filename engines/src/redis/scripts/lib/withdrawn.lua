-- Tasks that are removed before their end: those that wait for them are to hear of it.

-- Notes those of these tasks that are linked. To their successors this is their end; edges that were made since the
-- revision `before` are of those that take their place.
local function note_withdrawn(ids, found, status, before)
  for i, record in ipairs(found) do
    if record and byte(record, core_at(record) - 1 + @core.linked.at) == @flag.yes.byte then
      ended_links[#ended_links + 1] =
        { id = ids[i], status = status, before = before, has_waited = byte(record) == @state.waiting.byte }
    end
  end
end
