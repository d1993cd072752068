-- The leases that overdue entries of `l` stand for, and their records: at most `most`, those of the earliest entries first. A
-- batch that has more stays, and is overdue at the next step.
local function overdue_leases(entries, most)
  local leases, stored, ids, places = {}, {}, {}, {}
  for _, entry in ipairs(entries) do
    local batch, is_batch = batch_by_entry(entry.queue, entry.id)
    local held, ids_at, records = {}, {}, {}
    if batch then
      held, ids_at, records = held_in(batch)
    end
    if is_batch and not held[1] then
      -- Its records are left from deleted keys, or gone.
      local fence = sub(entry.id, #@leases.batch + 1)
      drop_batch(entry.queue, fence, tonumber(call('HGET', of(entry.queue, 'c'), @batches.left .. fence) or 1))
    elseif not is_batch and #leases < most then
      leases[#leases + 1] = entry
      ids[#ids + 1], places[#places + 1] = entry.id, #leases
    end
    for i = 1, min(#held, most - #leases) do
      leases[#leases + 1] = { id = held[i], queue = entry.queue, score = entry.score }
      stored[#leases] = lease_in(batch, ids_at[i], records[i])
      leave_batch(batch, ids_at[i])
    end
  end
  for i, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
    stored[places[i]] = record
  end
  return leases, stored
end
