#!lua flags=allow-oom
-- Deletes copies from the outbox.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- revision (15 digits) and id.

-- include base numbers

local keys = {}
for i = 2, #ARGV do
  keys[i - 1] = ARGV[i]
end
spread('HDEL', P .. 'o', keys)
spread('ZREM', P .. 'o:order', keys)
return #keys
