#!lua flags=no-writes
-- A piece of one queue's finished tasks, the oldest first.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 queue, 3 the revision after which to go on (15 digits, or nothing),
-- 4 a limit, 5 whether their sizes are asked for (0 or 1). Returns {the revision to go on after, or nothing at
-- the end of the list, the bytes of what a view leaves out (large parameters, the result, what a completed task was given) of each if asked for, views
-- (see view.lua), …}.

-- include base batches view over

local list = of(ARGV[2], 'f')
local first = 0
if ARGV[3] ~= '' then
  first = place_of_revision(list, ARGV[3])
  if first < call('LLEN', list) and sub(call('LINDEX', list, first), @finished.revision) == ARGV[3] then
    first = first + 1
  end
end
local limit, views, sizes = tonumber(ARGV[4]), {}, {}
local entries = call('LRANGE', list, first, first + limit - 1)
for _, entry in ipairs(entries) do
  local id = sub(entry, @finished.rest.at)
  local found = view(id, true)
  if found and is_listed(found[2], entry) then
    views[#views + 1] = found
    if ARGV[5] == '1' then
      sizes[#views] = call('HSTRLEN', B, id) + call('HSTRLEN', T, id) - #found[2]
    end
  end
end
local last = #entries == limit and sub(entries[#entries], @finished.revision) or ''
return { last, sizes, unpack(views) }
