-- Answering a claim again whose first answer got lost.

-- What was leased with these fences and nobody has taken since, as claims (see claim.lua) of one task each, with their
-- leases as records. Looks at all leases of the queues: this is rare, and remembering the ids of every cycle would not be
-- free.
local function leased_before(first_fence, last_fence, names)
  local claims = {}
  for _, name in ipairs(names) do
    local members, found = call('ZRANGE', of(name, 'l'), 0, -1), {}
    for from = 1, #members, 1000 do
      local leases = call('HMGET', T, unpack(members, from, min(from + 999, #members)))
      for i, lease in ipairs(leases) do
        local fence = lease and is_running(lease) and sub(lease, @lease.revision) or NO_NUMBER
        if fence ~= NO_NUMBER and fence >= first_fence and fence <= last_fence then
          found[#found + 1] = { fence = fence, id = members[from + i - 1], lease = lease }
        end
      end
    end
    table.sort(found, function(a, b) return a.fence < b.fence end)
    for _, entry in ipairs(found) do
      local body = byte(entry.lease, @lease.size.at) == @size.large.byte and call('HGET', B, entry.id) or ''
      local apart = { { 1, call('HGET', X, entry.id) or '', body } }
      claims[#claims + 1] = { name, entry.fence, { entry.id }, { entry.lease }, apart, {} }
    end
  end
  return claims
end
