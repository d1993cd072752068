#!lua flags=allow-oom
-- Takes expired leases of all queues back, the longest expired first, and wakes workers.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 at most how many. Answers {requeued, failed, cancelled}.

-- include base numbers wake moves tend

if limited then
  -- include limits aside gates
  on_ended = note_ended
end
local requeued, failed, cancelled = reclaim(overdue(call('SMEMBERS', P .. 'queues'), 'l', tonumber(ARGV[2])))
write_moves(true)
return { requeued, failed, cancelled }
