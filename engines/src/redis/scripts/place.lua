#!lua flags=no-writes
-- Where a ready task stands in its queue.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id.
-- Answers nothing unless the task is ready, else {how many come before it, microseconds until its queue's rate lets one
-- start or -1}.

-- include base limits

local record = call('HGET', T, ARGV[2])
local ahead = record and call('ZRANK', of(queue_of(record), 'r'), ARGV[2])
if not ahead then
  return false
end
local room, wait = room_in(queue_of(record)), -1
if room and room.mark and room.debt + room.period > room.burst * room.period then
  wait = rate_wait(room, 1)
end
return { ahead, wait }
