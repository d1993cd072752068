#!lua flags=allow-oom
-- Deletes finished tasks of one queue, each only if it has not moved since it was checked.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 queue, 3 for how many microseconds after its end a task with a chosen
-- id is remembered, 4 how many tombstones there may be, then pairs of id and revision (15 digits).
-- Returns how many were deleted.

-- include base numbers sized over unique aside lane places remove tombstones

local ids, ended = {}, {}
for i = 5, #ARGV, 2 do
  local record = call('HGET', T, ARGV[i])
  if record and is_over(record) and sub(record, @record.revision) == ARGV[i + 1] then
    ids[#ids + 1], ended[#ended + 1] = ARGV[i], record
  end
end
bury(ARGV[2], ids, ended, tonumber(ARGV[3]))
remove(ARGV[2], ids, true)
sweep_tombstones(tonumber(ARGV[4]))
return #ids
