-- Cancels tasks that do not run.

-- Ends tasks of one queue with these records, each with its own revision.
local function withdraw(name, ids, found, revisions)
  leave(name, ids, found)
  if sized then
    note_out(name, ids)
  end
  local queue = gathered(name)
  for i, id in ipairs(ids) do
    finish(queue, id, with_history(found[i]), @state.cancelled, revisions[i], @flag.no, @by.store, NO_NUMBER)
  end
end
