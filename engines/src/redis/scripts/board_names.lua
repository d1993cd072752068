#!lua flags=no-writes
-- Boards in the order of their names.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 where to begin: `-` or `(name`, 3 at most how many.
-- Returns their names.

-- include base

return call('ZRANGEBYLEX', P .. 'boards', ARGV[2], '+', 'LIMIT', 0, ARGV[3])
