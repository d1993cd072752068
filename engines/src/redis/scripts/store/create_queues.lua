#!lua
-- Creates queues, unless they exist, without settings of their own. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, then of each queue 0 and its name; at most 1,000 queues.

-- include base

call('ZADD', P .. 'queues', unpack(ARGV, 2))
return 0
