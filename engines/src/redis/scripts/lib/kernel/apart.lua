-- Collects the side records of tasks into `apart`: {place in ids, news, body}, each but the place perhaps an empty
-- string. `leases` holds deadlines and ids by now; `found` the records as they were.
local news = call('HMGET', X, unpack(ids))
for i, id in ipairs(ids) do
  local is_fresh = byte(found[i]) == @state.fresh.byte
  local size = byte(found[i], is_fresh and @fresh.size.at or @lease.size.at)
  local is_large = size == @size.large.byte
  if news[i] or is_large then
    apart[#apart + 1] = { i, news[i] or '', is_large and call('HGET', B, id) or '' }
  end
end
