#!lua flags=no-writes
-- Schedules in the order of their names.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 where to begin: `-` or `(name`, 3 a limit.
-- Returns them as they are stored.

-- include base

local names = call('ZRANGEBYLEX', P .. 'schedules:order', ARGV[2], '+', 'LIMIT', 0, ARGV[3])
return names[1] and call('HMGET', P .. 'schedules', unpack(names)) or names
