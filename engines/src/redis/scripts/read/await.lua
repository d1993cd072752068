#!lua flags=allow-oom
-- The whole task; and while it is not over, notes that a process waits for its end.
--
-- The process reports each task it awaits once and then only renews its own entry in `awaiting` (see
-- `renew_awaiting.lua`). Looking and noting are one step, so an end in between is not missed.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id, 3 instance, 4 mark: a number that grows each time the process has
-- heard of an end, 5 for how many milliseconds the process counts as alive.
-- Returns as `get.lua`.

-- include base batches view note_waiting

local seen = view(ARGV[2], false)
if not seen then
  return false
end
local _, record = unpack(seen)
if not is_over(record) then
  note_waiting(P .. 'awaited', ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5])
end
return { seen, call('HGET', H, ARGV[2]) or '', call('HGET', B, ARGV[2]) or '' }
