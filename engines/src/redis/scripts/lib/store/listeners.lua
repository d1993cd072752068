-- Who listens: a process subscribes to its channel for as long as it lives, and the server drops that with the connection.

-- How many listen to each of some channels; nothing if this user may not know.
local function listeners_of(channels)
  local found = redis.pcall('PUBSUB', 'NUMSUB', unpack(channels))
  if found.err then
    return nil
  end
  local counts = {}
  for i = 1, #channels do
    counts[i] = found[2 * i]
  end
  return counts
end

-- Whether a process is connected; one that this user can't ask about counts as connected.
local function is_connected(instance)
  local counts = listeners_of({ P .. 'instance:' .. instance })
  return not counts or counts[1] > 0
end
