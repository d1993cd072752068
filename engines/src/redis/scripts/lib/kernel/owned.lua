-- The records of some tasks, found by their ids. Those that run in batches (batches.lua) get leases of their own first: a script
-- that may change a record reads it so.
local function owned(ids, found)
  -- include batches own_leases
  -- An id may come twice.
  local leases = {}
  for i, id in ipairs(ids) do
    local record = found[i]
    if record and byte(record) == @state.fresh.byte and not leases[id] then
      local batch, at = batch_of(id, record)
      leases[id] = batch and own_lease(id, batch, at, record)
    end
    found[i] = leases[id] or record
  end
  leave_batches()
  return found
end
