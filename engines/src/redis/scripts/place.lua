#!lua flags=no-writes
-- Where a ready task stands in its queue.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id.
-- Answers nothing unless the task is ready, else {how many come before it, microseconds until its queue's rate lets one
-- start or -1, gates that hold it back, …}: of each {gate, how many of its tasks run, microseconds until its rate lets one
-- start or -1, ids of those that run if these are as many as may, …}.

-- include base numbers wake limits aside gates

local record = call('HGET', T, ARGV[2])
local name = record and queue_of(record)
local score = record and (call('ZSCORE', of(name, 'r'), ARGV[2]) or call('ZSCORE', of(name, 'p'), ARGV[2]))
if not score then
  return false
end
local ahead = call('ZCOUNT', of(name, 'r'), '-inf', '(' .. score) + call('ZCOUNT', of(name, 'p'), '-inf', '(' .. score)
local room, wait = room_in(name), -1
if room and room.mark and room.debt + room.period > room.burst * room.period then
  wait = rate_wait(room, 1)
end

local MAX_HOLDERS_NAMED, held_back = 10, {}
for _, gate in ipairs(rules_of(name) and gates_of(rules_of(name), record) or {}) do
  local stand = stand_of(name, gate)
  local shut = shut_by(stand)
  if shut then
    local described = { gate, stand.running, stand.tasks > 0 and stand.left < 1 and next_wait(stand) or -1 }
    local first, last = bounds_of(gate)
    local slots = shut == 'full' and call('ZRANGEBYLEX', of(name, 'h'), first, last, 'LIMIT', 0, MAX_HOLDERS_NAMED) or {}
    for _, slot in ipairs(slots) do
      described[#described + 1] = sub(slot, #gate + #NUL + 1)
    end
    held_back[#held_back + 1] = described
  end
end
return { ahead, wait, unpack(held_back) }
