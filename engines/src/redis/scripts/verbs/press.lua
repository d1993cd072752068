#!lua flags=allow-oom
-- Deletes the oldest finished tasks before their retention ends, if the server's memory is nearly used up.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit, 3 from how many percent of maxmemory on, 4 bytes
-- that are to be free below that, 5 for how many microseconds after its end a task with a chosen id is remembered, 6 how
-- many tombstones there may be.
-- Returns {how many were deleted, 1 if the memory is still nearly used up else 0}.

-- include base numbers sized over unique aside lane places remove tombstones trim

-- Of how many queues the oldest tasks are compared, how many of one queue are deleted before its next is compared, and
-- the work of one call (see trim.lua).
local MOST_QUEUES, A_TIME, WORK = 64, 25, 1000

local function is_pressed()
  -- A user without permission can't know.
  local memory = redis.pcall('INFO', 'memory')
  if type(memory) ~= 'string' then
    return false
  end
  local used, most = string.match(memory, 'used_memory:(%d+)'), string.match(memory, 'maxmemory:(%d+)')
  local uncounted = string.match(memory, 'mem_not_counted_for_evict:(%d+)') or 0
  return most ~= '0' and used - uncounted + ARGV[4] > most * ARGV[3] / 100
end

-- The revision of the first task in a queue's list, or nothing.
local function head_of(name)
  local head = call('LINDEX', of(name, 'f'), 0)
  return head and sub(head, @finished.revision)
end

-- The queue whose first finished task is the oldest.
local function oldest_of(heads)
  local oldest
  for name, head in pairs(heads) do
    if not oldest or head < heads[oldest] then
      oldest = name
    end
  end
  return oldest
end

if not is_pressed() then
  return { 0, 0 }
end
local heads = {}
for _, name in ipairs(call('ZRANDMEMBER', P .. 'pruning', MOST_QUEUES)) do
  heads[name] = head_of(name)
end
local removed, limit, work = 0, tonumber(ARGV[2]), WORK
while removed < limit and work > 0 do
  local name = oldest_of(heads)
  if not name then
    break
  end
  local deleted, _, _, left = trim(name, 0, STAMP, min(A_TIME, limit - removed), work, false, 0, 0, tonumber(ARGV[5]))
  removed, work = removed + deleted, left
  heads[name] = head_of(name)
end
sweep_tombstones(tonumber(ARGV[6]))
return { removed, is_pressed() and 1 or 0 }
