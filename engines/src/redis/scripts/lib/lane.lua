-- The lane of a queue: ready tasks of the default priority that stand as they were submitted, in the order of their positions.
--
-- A list of position and id (`q`). It takes a tenth of the time and half of the memory of the sorted set `r`, in which all
-- other ready tasks stand: those of other priorities, and those that came back. A queue with limits of its own uses only
-- the sorted set. A task that leaves the lane from its middle (cancelled, replaced) leaves its entry behind as a ghost. `x`
-- counts these; while it does, each entry is compared with its record: a live one's revision is its position.

local LANE_PIECE, LANE_PIECES = 1000, 5

local function ghosts_in(name)
  return tonumber(call('GET', of(name, 'x')) or 0)
end

-- How many ready tasks are in the lane.
local function count_lane(name)
  return math.max(call('LLEN', of(name, 'q')) - ghosts_in(name), 0)
end

-- Of entries those that are no ghosts, and how many are.
local function without_ghosts(entries)
  local live, ids = {}, {}
  for i, entry in ipairs(entries) do
    ids[i] = sub(entry, @entry.rest.at)
  end
  for i, record in ipairs(#ids > 0 and call('HMGET', T, unpack(ids)) or {}) do
    if record and byte(record) == @state.fresh.byte and sub(record, @record.revision) == sub(entries[i], @entry.revision) then
      live[#live + 1] = entries[i]
    end
  end
  return live, #entries - #live
end

-- Takes the first entries of the lane, at most `count`, of which ghosts are dropped.
local function pop_lane(name, count)
  local entries, lane = call('LPOP', of(name, 'q'), count) or {}, of(name, 'q')
  local ghosts = ghosts_in(name)
  if ghosts > 0 then
    local live, dropped = without_ghosts(entries)
    if dropped >= ghosts or call('EXISTS', lane) == 0 then
      call('DEL', of(name, 'x'))
    elseif dropped > 0 then
      call('DECRBY', of(name, 'x'), dropped)
    end
    return live
  end
  return entries
end

-- Moves the first tasks of the lane to the sorted set, where they stand in the same order: at least `count`, unless it has
-- fewer, or some thousands of ghosts.
local function leave_lane(name, count)
  local moved = 0
  for _ = 1, LANE_PIECES do
    if moved >= count or call('EXISTS', of(name, 'q')) == 0 then
      return
    end
    local scored = {}
    for i, entry in ipairs(pop_lane(name, LANE_PIECE)) do
      scored[2 * i - 1], scored[2 * i] = sub(entry, @entry.revision), sub(entry, @entry.rest.at)
    end
    spread('ZADD', of(name, 'r'), scored)
    if sized then
      note_in(name, scored)
    end
    moved = moved + #scored / 2
  end
end

-- The live entries of the lane from an index on, at most `count`.
local function look_in_lane(name, index, count)
  local found, lane, has_ghosts = {}, of(name, 'q'), ghosts_in(name) > 0
  while #found < count do
    local entries = call('LRANGE', lane, index, index + LANE_PIECE - 1)
    local live = has_ghosts and without_ghosts(entries) or entries
    for i = 1, min(#live, count - #found) do
      found[#found + 1] = live[i]
    end
    if #entries < LANE_PIECE then
      break
    end
    index = index + LANE_PIECE
  end
  return found
end
