#!lua flags=no-writes
-- A piece of the list of finished tasks, the latest first over all named queues.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 at most how many, 3 the revision after which to go on (15 digits,
-- or nothing), 4- queues.
-- Answers {the revision after which to go on, or nothing at the end, views (see view.lua), …}, of which no two queues' order is mixed up: a queue
-- that was not read to its end says how far down the others may be told.

-- include base view over

local limit, found, horizon = tonumber(ARGV[2]), {}, ''
local each = math.max(10, math.ceil(2 * limit / math.max(1, #ARGV - 3)))
for i = 4, #ARGV do
  local list = of(ARGV[i], 'f')
  local ending = ARGV[3] == '' and call('LLEN', list) or place_of_revision(list, ARGV[3])
  local first = math.max(0, ending - each)
  if ending > 0 then
    local entries = call('LRANGE', list, first, ending - 1)
    for _, entry in ipairs(entries) do
      found[#found + 1] = entry
    end
    if first > 0 and sub(entries[1], @entry.revision) > horizon then
      horizon = sub(entries[1], @entry.revision)
    end
  end
end
table.sort(found, function(a, b) return a > b end)
local views, last, more = {}, horizon, horizon ~= ''
for i, entry in ipairs(found) do
  if i > limit or sub(entry, @entry.revision) < horizon then
    more = true
    break
  end
  last = sub(entry, @entry.revision)
  local seen = view(sub(entry, @entry.rest.at), true)
  if seen and is_listed(seen[2], entry) then
    views[#views + 1] = seen
  end
end
return { more and last or '', unpack(views) }
