#!lua flags=no-writes
-- The latest entries of some queues' lists of finished tasks, the latest first over all of them.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit, 3 the revision before which to go on (15 digits,
-- or nothing), 4- queues.
-- Returns {the horizon, entries, …}: what is older than the horizon may be missing, so that no two queues' order is mixed
-- up; it is empty if nothing is missing.

-- include base over

local limit, lists = tonumber(ARGV[2]), {}
for i = 4, #ARGV do
  local list = of(ARGV[i], 'f')
  local ending = call('LLEN', list)
  if ending > 0 and ARGV[3] ~= '' then
    ending = place_of_revision(list, ARGV[3])
  end
  if ending > 0 then
    lists[#lists + 1] = { name = list, ending = ending }
  end
end

local found, horizon = {}, ''
local each = math.max(10, math.ceil(limit / math.max(1, #lists)))
for _, list in ipairs(lists) do
  local first = math.max(0, list.ending - each)
  local entries = call('LRANGE', list.name, first, list.ending - 1)
  for _, entry in ipairs(entries) do
    found[#found + 1] = entry
  end
  if first > 0 and sub(entries[1], @finished.revision) > horizon then
    horizon = sub(entries[1], @finished.revision)
  end
end
-- Ascending, because a comparison function would cost more than all the rest.
table.sort(found)
local answer, first = {}, math.max(1, #found - limit + 1)
if first > 1 then
  local cut = sub(found[first], @finished.revision)
  horizon = cut > horizon and cut or horizon
end
for i = #found, first, -1 do
  answer[#answer + 1] = found[i]
end
return { horizon, unpack(answer) }
