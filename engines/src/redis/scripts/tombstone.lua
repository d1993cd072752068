#!lua flags=no-writes
-- What is remembered of a deleted task whose id its client chose.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id.
-- Answers its tombstone; nothing after its time, and while a task of this id is stored.

-- include base

local tombstone = call('HGET', P .. 'e', ARGV[2])
if not tombstone or sub(tombstone, @tombstone.forget_at) <= STAMP or call('HEXISTS', T, ARGV[2]) == 1 then
  return false
end
return tombstone
