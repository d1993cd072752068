#!lua flags=allow-oom
-- Moves due tasks of all queues to their queues, the longest due first, and wakes workers.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 at most how many. Answers how many.

-- include base numbers wake moves tend

local promoted = promote(overdue(call('SMEMBERS', P .. 'queues'), 's', tonumber(ARGV[2])))
write_moves(true)
if limited then
  -- Gates whose time has come: who was told of it may be busy by now.
  for _, name in ipairs(call('HKEYS', P .. 'gates')) do
    local due = call('ZCOUNT', of(name, 'e'), '-inf', NOW)
    if due > 0 then
      wake(name, due)
    end
  end
end
return promoted
