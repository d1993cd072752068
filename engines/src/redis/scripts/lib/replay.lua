-- Answering a claim again whose first answer got lost.

-- What was leased with these fences and nobody has taken since, as claims (see claim.lua) of one task each. Looks at all
-- leases of the queues: this is rare, and remembering the ids of every cycle would not be free.
local function leased_before(first_fence, last_fence, names)
  local claims = {}
  for _, name in ipairs(names) do
    local members, found = call('ZRANGE', of(name, 'l'), 0, -1), {}
    for from = 1, #members, 1000 do
      local leases = call('HMGET', M, unpack(members, from, min(from + 999, #members)))
      for i, lease in ipairs(leases) do
        local fence = lease and byte(lease) ~= 70 and sub(lease, 2, 16) or NO_NUMBER
        if fence ~= NO_NUMBER and fence >= first_fence and fence <= last_fence then
          found[#found + 1] = { fence, members[from + i - 1], lease }
        end
      end
    end
    table.sort(found, function(a, b) return a[1] < b[1] end)
    for _, entry in ipairs(found) do
      local fence, id, lease = entry[1], entry[2], entry[3]
      local record = call('HGET', T, id)
      -- The lease took the carry in; it is written again from it.
      local carry = sub(lease, 2, 16) .. sub(lease, 33, 48) .. format('%06d', sub(lease, 49, 54) - 1)
        .. sub(lease, 55, 57) .. NO_TIME .. sub(lease, 63, 63)
      if record then
        local body = byte(record, 33) == 76 and call('HGET', B, id) or ''
        local apart = { { 1, carry, call('HGET', X, id) or '', body } }
        claims[#claims + 1] = { name, fence, { id }, { record }, apart, {} }
      end
    end
  end
  return claims
end
