-- The sorted sets in which a task of a queue waits: ready, scheduled, or for others. Those that stand aside behind a gate
-- are in aside.lua.

-- Takes a task out of where it waits; answers whether it was there.
local function leave_places(name, id)
  return call('ZREM', of(name, 'r'), id) + call('ZREM', of(name, 's'), id) + call('ZREM', of(name, 'd'), id) > 0
end

-- How many tasks wait in a queue, also those that stand aside.
local function count_waiting(name)
  return call('ZCARD', of(name, 'r')) + call('ZCARD', of(name, 'p')) + call('ZCARD', of(name, 's'))
    + call('ZCARD', of(name, 'd'))
end
