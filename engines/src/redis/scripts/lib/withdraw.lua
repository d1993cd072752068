-- Cancelling a task that does not run.

local function withdraw(id, record, revision)
  local name = queue_of(record)
  leave(name, id, record)
  if sized then
    note_out(name, { id })
  end
  finish(gathered(name), id, with_history(record), @state.cancelled, revision, @flag.no, @by.store, NO_NUMBER)
end
