#!lua flags=no-writes
-- The tombstone of a deleted task whose id its client chose.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id.
-- Returns its tombstone; nothing after its time, and while a task of this id is stored.

-- include base

local tombstone = call('HGET', P .. 'e', ARGV[2])
if not tombstone or sub(tombstone, @tombstone.forget_at) <= STAMP or call('HEXISTS', T, ARGV[2]) == 1 then
  return false
end
return tombstone
