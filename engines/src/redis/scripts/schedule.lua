#!lua flags=no-writes
-- Reads a schedule by its name.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 name.
-- Answers it as it is stored, or nothing.

-- include base

return call('HGET', P .. 'schedules', ARGV[2])
