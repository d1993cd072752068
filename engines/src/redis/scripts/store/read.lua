#!lua flags=no-writes
-- Reads the hash of workers whole.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 `workers`.
-- Returns {the present in microseconds, {field, value, …}}.

-- include base

return { NOW, call('HGETALL', P .. ARGV[2]) }
