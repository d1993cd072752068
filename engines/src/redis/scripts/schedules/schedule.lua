#!lua flags=no-writes
-- Reads a schedule by its name.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name.
-- Returns it as it is stored, or nothing.

-- include base

return call('HGET', P .. 'schedules', ARGV[2])
