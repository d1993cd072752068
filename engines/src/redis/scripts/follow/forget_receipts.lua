#!lua flags=allow-oom
-- Deletes the receipts of copies that were sent again.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- revision (15 digits) and id.

-- include base numbers

local keys = {}
for i = 2, #ARGV do
  keys[i - 1] = ARGV[i]
end
spread('SREM', P .. 'o:sent', keys)
return #keys
