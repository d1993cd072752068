-- When queues have something to do.
--
-- By queue a lower bound of when its first scheduled task is due (`due`), and of when its first lease ends
-- (`expiring`). So ticks and claims cost by their work and not by the number of queues. A step that adds an earlier
-- task or lease lowers the bound; a step that looks at the queue then sets it to the first time.

local BOUNDS = { s = P .. 'due', l = P .. 'expiring' }

-- Some queues whose bound has passed, the longest passed first.
local function queues_due(part, count)
  return call('ZRANGEBYSCORE', BOUNDS[part], '-inf', NOW, 'LIMIT', 0, count)
end

-- When a part of a queue is due, or nothing. The sentinel among the leases is at infinity.
local function first_time(name, part)
  local first = call('ZRANGE', of(name, part), 0, 0, 'WITHSCORES')[2]
  return first ~= 'inf' and first
end

-- Sets the bounds of queues that were checked.
local function note_first(names, part)
  for _, name in ipairs(names) do
    local first = first_time(name, part)
    if first then
      call('ZADD', BOUNDS[part], first, name)
    else
      call('ZREM', BOUNDS[part], name)
    end
  end
end
