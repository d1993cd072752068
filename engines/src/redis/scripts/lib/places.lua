-- Where tasks of a queue wait: ready, scheduled, or for others. Those that are set aside behind a gate are in aside.lua,
-- the lane in lane.lua.

-- Takes a task out of the sorted set in which it waits; answers whether it was there.
local function leave_places(name, id)
  return call('ZREM', of(name, 'r'), id) + call('ZREM', of(name, 's'), id) + call('ZREM', of(name, 'd'), id) > 0
end

-- Takes a task out of where it waits, wherever that is. In the lane its entry stays, as a ghost.
local function leave(name, id, record)
  if not leave_places(name, id) and not leave_aside(name, id, record) and byte(record) == @state.fresh.byte then
    call('INCR', of(name, 'x'))
  end
end

-- How many tasks wait in a queue, also those that are set aside.
local function count_waiting(name)
  return count_lane(name) + call('ZCARD', of(name, 'r')) + call('ZCARD', of(name, 'p')) + call('ZCARD', of(name, 's'))
    + call('ZCARD', of(name, 'd'))
end
