#!lua flags=allow-oom
-- Deletes finished tasks of one queue, each only if it is still the one that was looked at.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 queue, then pairs of id and revision (15 digits).
-- Answers how many were deleted.

-- include base numbers sized over unique aside lane places remove

local ids = {}
for i = 3, #ARGV, 2 do
  local record = call('HGET', T, ARGV[i])
  if record and is_over(record) and sub(record, @record.revision) == ARGV[i + 1] then
    ids[#ids + 1] = ARGV[i]
  end
end
remove(ARGV[2], ids, true)
return #ids
