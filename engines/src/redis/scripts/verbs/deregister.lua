#!lua flags=allow-oom
-- Forgets a worker, where it waits, and its drain.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 worker, 3 instance, 4- queues where it may be registered as waiting.

-- include base

call('HDEL', P .. 'workers', ARGV[2])
call('HDEL', P .. 'picky', ARGV[2])
call('ZREM', P .. 'workers:expiry', ARGV[2])
call('HDEL', P .. 'quiet', 'worker:' .. ARGV[2])
call('DEL', P .. 'leased:' .. ARGV[2], P .. 'held:' .. ARGV[2])
if call('HDEL', P .. 'config', 'drain:' .. ARGV[2]) == 1 then
  call('HINCRBY', P .. 'config', 'version', 1)
  call('PUBLISH', P .. 'all', 'config')
end
for i = 4, #ARGV do
  call('ZREM', of(ARGV[i], 'w'), ARGV[2] .. '@' .. ARGV[3])
  call('ZREM', of(ARGV[i], 'b'), ARGV[2] .. '@' .. ARGV[3])
end
return 1
