#!lua flags=allow-oom
-- Notes that somebody waits for a task's end, for a bounded time.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id, 3 for how many microseconds.

-- include base

call('ZADD', P .. 'awaited', 'GT', format('%.0f', now + ARGV[3]), ARGV[2])
return 1
