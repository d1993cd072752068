#!lua flags=allow-oom
-- Deletes finished tasks past their queues' retention, the oldest of each queue first, and sweeps tombstones.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit, 3 1 to only count, 4 the
-- configuration's version that the retention is from, 5 and 6 at which place in the first queue's list to go on, and how
-- many tasks were counted before it (0 unless they are only counted), 7 for how many microseconds after its end a task
-- with a chosen id is remembered, 8 how many tombstones there may be, then of each queue: name, how many tasks it keeps,
-- for how many microseconds. Sets by `pruning` when these queues have something to delete next.
-- Returns {tasks, queues that are done, where to go on in the next queue: place, tasks before it}; or nothing if the
-- configuration has changed.

-- include base numbers sized over unique aside lane places remove tombstones trim

if call('HGET', P .. 'config', 'version') ~= ARGV[4] then
  return false
end

-- Notes when a queue, whose oldest finished task ended at this time, has something to delete next.
local function note_next(name, oldest, age)
  if oldest then
    call('ZADD', P .. 'pruning', min(oldest + age, 9e15), name)
  else
    call('ZREM', P .. 'pruning', name)
  end
end

-- The work of one call, in entries: together with the queues it must stay below 5 ms.
local limit, is_dry, work = tonumber(ARGV[2]), ARGV[3] == '1', 2000
local first, passed, total, done = tonumber(ARGV[5]), tonumber(ARGV[6]), 0, 0
local place, tasks_before, age, bound = 0, 0, tonumber(ARGV[7]), tonumber(ARGV[8])
for i = 9, #ARGV, 3 do
  local before = stamp_of(math.max(now - ARGV[i + 2], 0))
  local removed, looked, is_done, left, oldest =
    trim(ARGV[i], tonumber(ARGV[i + 1]), before, limit - total, work, is_dry, first, passed, age)
  total, work = total + removed, left
  if not is_done then
    place, tasks_before = is_dry and first + looked or 0, is_dry and passed + removed or 0
    break
  end
  if not is_dry then
    note_next(ARGV[i], oldest, ARGV[i + 2])
  end
  first, passed, done = 0, 0, done + 1
end
if not is_dry then
  sweep_tombstones(bound)
end
return { total, done, place, tasks_before }
