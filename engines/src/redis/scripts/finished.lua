#!lua flags=no-writes
-- A piece of one queue's finished tasks, the oldest first.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 queue, 3 the revision after which to go on (15 digits, or nothing),
-- 4 at most how many. Answers {the present, how many finished tasks are newer than
-- the piece, views (see view.lua), …}.

-- include base view over

local list = of(ARGV[2], 'f')
local first = 0
if ARGV[3] ~= '' then
  first = place_of_revision(list, ARGV[3])
  if first < call('LLEN', list) and sub(call('LINDEX', list, first), 1, 15) == ARGV[3] then
    first = first + 1
  end
end
local entries, views = call('LRANGE', list, first, first + ARGV[4] - 1), {}
for _, entry in ipairs(entries) do
  views[#views + 1] = view(sub(entry, 16), true)
end
return { NOW, math.max(0, call('LLEN', list) - first - #entries), unpack(views) }
