-- Where tasks of a queue wait: ready, scheduled, or for others. Those that are set aside behind a gate are in aside.lua,
-- the lane in lane.lua.

-- Queues that tasks have left, and how many entries of their lanes one step compares with their records.
local left_queues, MOST_COMPARED = {}, 1000

-- Splits ids into those in a sorted set, and the others.
local function part_ids(key, ids)
  if #ids == 0 or call('EXISTS', key) == 0 then
    return {}, ids
  end
  local inside, others = {}, {}
  for i, score in ipairs(call('ZMSCORE', key, unpack(ids))) do
    local list = score and inside or others
    list[#list + 1] = ids[i]
  end
  return inside, others
end

-- Removes ready tasks from the sorted set, or from behind their gates. The others are in the lane, where their entries
-- stay as ghosts.
local function leave_ready(name, ids, record_of)
  local in_set, others = part_ids(of(name, 'r'), ids)
  spread('ZREM', of(name, 'r'), in_set)
  local has_gates, ghosts = #others > 0 and call('EXISTS', of(name, 'p')) == 1, 0
  for _, id in ipairs(others) do
    local record = record_of[id]
    if not (has_gates and leave_aside(name, id, record)) and byte(record) == @state.fresh.byte then
      ghosts = ghosts + 1
    end
  end
  if ghosts > 0 then
    call('INCRBY', of(name, 'x'), ghosts)
  end
end

-- Removes tasks of one queue, at most 1,000, from the places where they wait. An entry without a record is left from a
-- deleted key: it is dropped.
local function leave(name, ids, found)
  local ready, scheduled, waiting, lost, record_of = {}, {}, {}, {}, {}
  for i, id in ipairs(ids) do
    local state = found[i] and byte(found[i])
    local list = not state and lost or state == @state.scheduled.byte and scheduled
      or state == @state.waiting.byte and waiting or ready
    list[#list + 1], record_of[id] = id, found[i]
  end
  left_queues[name] = true
  leave_ready(name, ready, record_of)
  spread('ZREM', of(name, 's'), scheduled)
  spread('ZREM', of(name, 'd'), waiting)
  for _, part in ipairs({ 'r', 's', 'd' }) do
    spread('ZREM', of(name, part), lost)
  end
end

-- Removes ghosts in queues that tasks have left: it drops those at the front of the lane, and a lane with more ghosts
-- than tasks gives up its first entries. So after a whole queue is cancelled, claims do not walk over ghosts. Call it
-- when the records are written.
local function thin_lanes()
  local left = MOST_COMPARED
  for name in pairs(left_queues) do
    if left > 0 and ghosts_in(name) > 0 then
      left = left - drop_ghosts(name, left)
      if left > 0 and 2 * ghosts_in(name) > call('LLEN', of(name, 'q')) then
        leave_lane(name, math.ceil(left / LANE_PIECES))
        left = 0
      end
    end
  end
  left_queues = {}
end

-- How many tasks wait in a queue, including those that are set aside.
local function count_waiting(name)
  local ready = of(name, 'r')
  -- A queue with limits mostly has only these parts.
  if call('EXISTS', of(name, 'q'), of(name, 'p'), of(name, 's'), of(name, 'd')) == 0 then
    return call('ZCARD', ready)
  end
  return count_lane(name) + call('ZCARD', of(name, 'r')) + call('ZCARD', of(name, 'p')) + call('ZCARD', of(name, 's'))
    + call('ZCARD', of(name, 'd'))
end
