#!lua flags=no-writes
-- Queues that may have leases, scheduled or finished tasks: a piece of the index by which chores find them.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the part: l leases, s scheduled tasks, f finished ones, 3 where the
-- walk goes on (0 at its beginning).
-- Returns {where the walk goes on, names, …}, in no order. A queue may be answered twice; one that keeps such tasks is not
-- missed. A queue may have none any more.

-- include base

local INDEX = { l = 'expiring', s = 'due', f = 'pruning' }
local NAMES_A_PIECE = 1000

local found = call('ZSCAN', P .. INDEX[ARGV[2]], ARGV[3], 'COUNT', NAMES_A_PIECE)
local answer = { found[1] }
for i = 1, #found[2], 2 do
  answer[#answer + 1] = found[2][i]
end
return answer
