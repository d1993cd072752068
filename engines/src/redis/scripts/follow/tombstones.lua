#!lua flags=no-writes
-- The tombstones of deleted tasks in numbers.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time.
-- Returns {how many, when one was last forgotten before its time, or nothing}.

-- include base

return { call('HLEN', P .. 'e'), call('GET', P .. 'e:cut') or '' }
