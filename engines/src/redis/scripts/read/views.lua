#!lua flags=no-writes
-- Tasks as lists show them, by entries: revision and id.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- entries.
-- Returns views (see view.lua) of those whose tasks still have these revisions.

-- include base batches view over

local views = {}
for i = 2, #ARGV do
  local seen = view(sub(ARGV[i], @entry.rest.at), true)
  if seen and is_listed(seen[2], ARGV[i]) then
    views[#views + 1] = seen
  end
end
return views
