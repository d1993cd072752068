-- Tasks that are removed before their end: their successors must be signalled.

-- Notes those of these tasks that are linked. For their successors this is their end; edges made since the revision
-- `before` belong to the tasks that take their place.
local function note_withdrawn(ids, found, status, before)
  for i, record in ipairs(found) do
    if record and byte(record, core_at(record) - 1 + @core.linked.at) == @flag.yes.byte then
      ended_links[#ended_links + 1] =
        { id = ids[i], status = status, before = before, has_waited = byte(record) == @state.waiting.byte }
    end
  end
end
