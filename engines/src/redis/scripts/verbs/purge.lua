#!lua flags=allow-oom
-- Deletes tasks of one queue that are waiting, scheduled or submitted.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 queue, 3 a limit.
-- Returns how many, or -1 for an unknown queue.

-- include base numbers wake moves over unique aside lane places remove withdrawn

local name, limit = ARGV[2], tonumber(ARGV[3])
if not call('ZSCORE', P .. 'queues', name) then
  return -1
end
local ids = {}
leave_lane(name, limit)
for _, part in ipairs({ 'r', 's', 'd', 'p' }) do
  for _, id in ipairs(#ids < limit and call('ZRANGE', of(name, part), 0, limit - #ids - 1) or {}) do
    ids[#ids + 1] = id
  end
end
local high, low, next_high = take_numbers(1)
-- For its successors, a purged task is cancelled.
remove(name, ids, false, function(gone, found)
  note_withdrawn(gone, found, @state.cancelled, number_at(high, low, next_high, 0))
end)
for i = 1, watched and #ids or 0 do
  finished[i] = ids[i]
end
write_moves(true)
return #ids
