-- The lane of a queue: ready tasks of the default priority, unchanged since their submission, in the order of their
-- positions.
--
-- A list of position and id (`q`). It takes a tenth of the time and half of the memory of the sorted set `r`, which
-- holds all other ready tasks: those of other priorities, and those that came back. A queue with limits of its own uses
-- only the sorted set. A task that leaves the lane from its middle (cancelled, replaced) leaves its entry as a ghost.
-- `x` counts the ghosts. While there are some, each entry is compared with its record: a live one's revision is its
-- position. The step that makes ghosts also removes them, a bounded number each time (`thin_lanes` in places.lua).

local LANE_PIECE, LANE_PIECES = 1000, 2
-- Fewer entries are not taken by themselves; and this many are compared first, since most often the first is not a
-- ghost.
local LEAST_PIECE, FIRST_PIECE = 100, 16

local function ghosts_in(name)
  return tonumber(call('GET', of(name, 'x')) or 0)
end

-- How many ready tasks are in the lane.
local function count_lane(name)
  return math.max(call('LLEN', of(name, 'q')) - ghosts_in(name), 0)
end

-- Whether a record, if it exists, is that of the task in an entry of the lane.
local function is_entered(record, entry)
  return record and byte(record) == @state.fresh.byte and sub(record, @record.revision) == sub(entry, @entry.revision)
end

-- The entries that are not ghosts, and how many are.
local function without_ghosts(entries)
  local live, ids = {}, {}
  for i, entry in ipairs(entries) do
    ids[i] = sub(entry, @entry.rest.at)
  end
  for i, record in ipairs(#ids > 0 and call('HMGET', T, unpack(ids)) or {}) do
    if is_entered(record, entries[i]) then
      live[#live + 1] = entries[i]
    end
  end
  return live, #entries - #live
end

-- Notes that entries have left the lane, some of them ghosts.
local function note_dropped(name, dropped)
  local ghosts = ghosts_in(name)
  if dropped >= ghosts or call('EXISTS', of(name, 'q')) == 0 then
    call('DEL', of(name, 'x'))
  elseif dropped > 0 then
    call('DECRBY', of(name, 'x'), dropped)
  end
end

-- Takes the first entries of the lane, at most `count`, and drops the ghosts among them. Returns the others, and how
-- many entries were compared with their records.
local function pop_lane(name, count)
  local entries = call('LPOP', of(name, 'q'), count) or {}
  if ghosts_in(name) == 0 then
    return entries, 0
  end
  local live, dropped = without_ghosts(entries)
  note_dropped(name, dropped)
  return live, #entries
end

-- Drops the ghosts at the front of the lane; compares at most this number of entries with their records, and returns
-- how many it compared.
local function drop_ghosts(name, most)
  local compared, piece = 0, FIRST_PIECE
  while compared < most and ghosts_in(name) > 0 do
    local entries = call('LRANGE', of(name, 'q'), 0, min(piece, most - compared) - 1)
    local live, front = without_ghosts(entries), 0
    while entries[front + 1] and entries[front + 1] ~= live[1] do
      front = front + 1
    end
    compared, piece = compared + #entries, LANE_PIECE
    if front > 0 then
      call('LTRIM', of(name, 'q'), front, -1)
      note_dropped(name, front)
    end
    if live[1] or #entries == 0 then
      break
    end
  end
  return compared
end

-- Moves the first tasks of the lane to the sorted set, where they are in the same order: at least `count`, unless it has
-- fewer, or as many ghosts.
local function leave_lane(name, count)
  local moved = 0
  for _ = 1, LANE_PIECES do
    if moved >= count or call('EXISTS', of(name, 'q')) == 0 then
      return
    end
    local scored = {}
    for i, entry in ipairs((pop_lane(name, min(LANE_PIECE, math.max(count - moved, LEAST_PIECE))))) do
      scored[2 * i - 1], scored[2 * i] = sub(entry, @entry.revision), sub(entry, @entry.rest.at)
    end
    spread('ZADD', of(name, 'r'), scored)
    if sized then
      note_in(name, scored)
    end
    moved = moved + #scored / 2
  end
end

-- The live entries of the lane from an index on, at most `count`; and, if it stopped among ghosts, the revision of the
-- last entry it compared.
local function read_in_lane(name, index, count)
  local found, lane, has_ghosts = {}, of(name, 'q'), ghosts_in(name) > 0
  for piece = 1, math.huge do
    -- Without ghosts, no more than is wanted.
    local most = has_ghosts and LANE_PIECE or min(LANE_PIECE, count - #found)
    local entries = call('LRANGE', lane, index, index + most - 1)
    local live = has_ghosts and without_ghosts(entries) or entries
    for i = 1, min(#live, count - #found) do
      found[#found + 1] = live[i]
    end
    if #found == count or #entries < most then
      return found
    elseif has_ghosts and piece == LANE_PIECES then
      return found, sub(entries[#entries], @entry.revision)
    end
    index = index + most
  end
end
