#!lua flags=no-writes
-- The place of a ready task in its queue.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id.
-- Returns nothing unless the task is ready, else {how many come before it, microseconds until its queue's rate lets one
-- start or -1, the present, running suspects, gates that hold it back, …}: if it is a suspect, of each suspect of its queue that
-- runs its id, its byte of suspicion and since when it runs; of each gate {gate, how many of its tasks run, microseconds until its rate lets one
-- start or -1, ids of those that run if these are as many as may, …}.

-- include base numbers wake over limits aside lane gates

-- The score of a task in the lane, or nothing.
local function lane_score(name, id, record)
  local lane, position = of(name, 'q'), sub(record, @record.revision)
  local is_there = byte(record) == @state.fresh.byte
    and call('LINDEX', lane, place_of_revision(lane, position)) == position .. id
  return is_there and position
end

-- This many entries of a lane with ghosts are compared with their records; beyond that, ghosts count as tasks.
local COMPARED = 2000

-- How many tasks of the lane come before a score.
local function lane_ahead(name, score)
  local lane = of(name, 'q')
  if tonumber(score) >= 1e15 then
    return count_lane(name)
  elseif tonumber(score) <= 0 then
    return 0
  end
  local ahead = place_of_revision(lane, format('%015.0f', score))
  if ghosts_in(name) == 0 then
    return ahead
  end
  local compared = min(ahead, COMPARED)
  local ghosts = 0
  for first = 0, compared - 1, LANE_PIECE do
    local _, some = without_ghosts(call('LRANGE', lane, first, min(first + LANE_PIECE, compared) - 1))
    ghosts = ghosts + some
  end
  return ahead - ghosts
end

local record = call('HGET', T, ARGV[2])
local name = record and queue_of(record)
local score = record and (call('ZSCORE', of(name, 'r'), ARGV[2]) or call('ZSCORE', of(name, 'p'), ARGV[2])
  or lane_score(name, ARGV[2], record))
if not score then
  return false
end
local ahead = lane_ahead(name, score) + call('ZCOUNT', of(name, 'r'), '-inf', '(' .. score) + call('ZCOUNT', of(name, 'p'), '-inf', '(' .. score)
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
-- How many leases of a queue are read.
local MOST_LEASES = 1000

-- The suspects of a queue that run.
local function running_suspects(name)
  local ids, found = call('ZRANGE', of(name, 'l'), 0, MOST_LEASES - 1), {}
  for i, lease in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
    if lease and is_running(lease) and suspicion_in(lease) > 1 then
      found[#found + 1] = ids[i]
      found[#found + 1] = byte(lease, @lease.suspicion.at)
      found[#found + 1] = format('%.0f', (unpack_at('>I7', lease, @lease.started_at.at)))
    end
  end
  return found
end

local has_history = byte(record) ~= @state.fresh.byte
local suspects = has_history and suspicion_in(record) > 1 and running_suspects(name) or {}
return { ahead, wait, NOW, suspects, unpack(held_back) }
