#!lua flags=no-writes
-- Reads a run by its id.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id.
-- Answers it as it is stored, or nothing.

-- include base

return call('HGET', P .. 'workflows', ARGV[2])
