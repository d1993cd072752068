-- Repeats the answer of a claim whose first answer was lost.

-- include batches

-- The leases of some entries of `l`: {fence, id, lease as a record}.
local function leases_in(name, entries)
  local leases, ids = {}, {}
  for _, entry in ipairs(entries) do
    local batch, is_batch = batch_by_entry(name, entry)
    if not is_batch then
      ids[#ids + 1] = entry
    elseif batch then
      local held, ids_at, records = held_in(batch)
      for i, id in ipairs(held) do
        leases[#leases + 1] = { fence = fence_at(batch, ids_at[i]), id = id, lease = lease_in(batch, ids_at[i], records[i]) }
      end
    end
  end
  for from = 1, #ids, 1000 do
    for i, lease in ipairs(call('HMGET', T, unpack(ids, from, min(from + 999, #ids)))) do
      if lease and is_running(lease) then
        leases[#leases + 1] = { fence = sub(lease, @lease.revision), id = ids[from + i - 1], lease = lease }
      end
    end
  end
  return leases
end

-- The leases of a request that are still its own, as claims (see claim.lua) of one task each, with their leases as
-- records. They end when they would have: a worker that never received them renews none.
local function leased_before(request, names)
  local first_fence, last_fence = sub(request, @request.first_fence), sub(request, @request.last_fence)
  local expires_at, claims = sub(request, @request.expires_at), {}
  for _, name in ipairs(names) do
    local found = {}
    for _, entry in ipairs(leases_in(name, call('ZRANGEBYSCORE', of(name, 'l'), expires_at, expires_at))) do
      if entry.fence >= first_fence and entry.fence <= last_fence then
        found[#found + 1] = entry
      end
    end
    table.sort(found, function(a, b) return a.fence < b.fence end)
    for _, entry in ipairs(found) do
      local body = byte(entry.lease, @lease.size.at) == @size.large.byte and call('HGET', B, entry.id) or ''
      local apart = { { 1, call('HGET', X, entry.id) or '', body } }
      claims[#claims + 1] = { name, entry.fence, { entry.id }, { entry.lease }, apart, {}, 0 }
    end
  end
  return claims
end
