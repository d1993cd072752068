-- Repeats the answer of a claim whose first answer was lost.

-- The leases of a request that are still its own, as claims (see claim.lua) of one task each, with their leases as
-- records. They end when they would have: a worker that never received them renews none.
local function leased_before(request, names)
  local first_fence, last_fence = sub(request, @request.first_fence), sub(request, @request.last_fence)
  local expires_at, claims = sub(request, @request.expires_at), {}
  for _, name in ipairs(names) do
    local members, found = call('ZRANGEBYSCORE', of(name, 'l'), expires_at, expires_at), {}
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
