#!lua flags=allow-oom
-- Ends a session of the pages.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id.

-- include base

call('HDEL', P .. 'sessions', ARGV[2])
call('ZREM', P .. 'sessions:expiry', ARGV[2])
