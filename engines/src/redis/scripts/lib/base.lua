-- Names, time and numbers, shared by all scripts.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. Every key begins with it, so all of them share its hash tag and
-- lie in one slot; their names are built here and nowhere else in Lua. `keys.rs` documents what each key holds.
-- ARGV[1] is the present in microseconds, or empty for the server's own clock. A script's own arguments follow.

local call, sub, byte, format, min = redis.call, string.sub, string.byte, string.format, math.min
local P = KEYS[1]

-- The key of a part of a queue: r ready, s scheduled, l leases, f finished, w waiting workers, n counters.
local function of(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
else
  now = tonumber(ARGV[1])
end
local NOW = format('%016.0f', now)

-- A number of the store's one counter, as 12 digits; three more digits make the revision, fence or position of one of a
-- thousand tasks. It never falls behind the clock (in 10 ms), so that fences still grow after an older snapshot of the
-- store was restored; and stays below 10^12 until the year 2286, so that positions are exact in a score.
local function next_batch()
  local batch, least = call('INCR', P .. 'c'), math.floor(now / 10000)
  if batch < least then
    batch = least
    call('SET', P .. 'c', format('%.0f', batch))
  end
  return format('%012.0f', batch)
end

-- Runs a command whose list of arguments may be long; unpack dies at about 8,000. Pairs stay together.
local function spread(command, key, list)
  local count = #list
  for first = 1, count, 1000 do
    call(command, key, unpack(list, first, min(first + 999, count)))
  end
end

-- The score of a ready task: by priority, then by position. `batch` and `index` are digits.
local function score_of(priority, batch, index)
  if priority == '5' then
    return batch .. index
  end
  return (5 - priority) * 1e15 + tonumber(batch .. index)
end
