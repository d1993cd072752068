#!lua flags=allow-oom
-- Whether a task may have become visible in a group since the board was at a revision; if not, notes that a process waits
-- for it. Looking and noting are one step, so a commit in between is not missed.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 board, 3 group, 4 the digits of the revision, 5 what the group is
-- awaited by: the board, `|`, and the group's bytes as hexadecimal digits, 6 instance, 7 mark: a number that grows
-- each time the process has heard of a change, 8 for how many milliseconds the process counts as alive.
-- Returns 1 or 0.

-- include base board note_waiting

local woken_at = call('HGET', of_board('w', ARGV[2]), ARGV[3])
if woken_at and woken_at > ARGV[4] then
  return 1
end
note_waiting(P .. 'awaited:groups', ARGV[5], ARGV[6], tonumber(ARGV[7]), ARGV[8])
return 0
