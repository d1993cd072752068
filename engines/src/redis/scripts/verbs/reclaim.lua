#!lua flags=allow-oom
-- Takes expired leases of all queues back, the longest expired first, and wakes workers.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit. Returns {how many went back to their
-- queues, records of those that ended, 1 if leases of further queues have ended else 0}.

-- include base numbers wake moves agenda maintain

if limited then
  -- include limits aside gates
  on_ended = note_ended
end
-- How many queues one call checks.
local MOST_QUEUES = 250

local expired = queues_due('l', MOST_QUEUES)
local requeued, ended = reclaim(overdue(expired, 'l', tonumber(ARGV[2])), tonumber(ARGV[2]))
write_moves(true)
note_first(expired, 'l')
return { requeued, ended, #expired == MOST_QUEUES and 1 or 0 }
