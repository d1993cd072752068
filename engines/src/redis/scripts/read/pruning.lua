#!lua flags=no-writes
-- Queues whose retention may have something to delete, the longest due first.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit. Returns their names.

-- include base

return call('ZRANGEBYSCORE', P .. 'pruning', '-inf', NOW, 'LIMIT', 0, ARGV[2])
