-- The moves of tasks, gathered and written at the end: record, lease and place of a task change in one step.

-- What is gathered: records {id, record}, parameters that are let go {id}, and by queue: unlease {id}, over
-- {revision..id}, lane {position..id}, ready {score, id}, suspects {score, id} if there are any, later {due, id}, waiting
-- {revision, id}, counts.
local queues = {}
local records, bodies_gone, finished = {}, {}, {}
-- Whether a caller waits for the end of some task. Most often none does, and the tasks that end are not gathered.
local watched = call('EXISTS', P .. 'awaited') == 1

local function gathered(name)
  local queue = queues[name]
  if not queue then
    queue = { name = name, unlease = {}, over = {}, lane = {}, ready = {}, later = {}, waiting = {}, counts = {} }
    queues[name] = queue
  end
  return queue
end

local function push(list, first, second)
  local count = #list
  list[count + 1] = first
  list[count + 2] = second
end

-- A task ends. All ends pass here. `lease` is its last record, with a history; `by` and `fence` say who settled what lease;
-- a completed task has a result, or an empty one, and lets its parameters go, which begin behind `kept`.
local function finish(queue, id, lease, status, revision, dead_letter, by, fence, result, kept)
  local record
  if status == @state.completed then
    record = status .. revision .. STAMP .. dead_letter .. by .. fence .. sub(lease, @lease.ready_at.at, kept) .. result
      .. sub(lease, #lease - byte(lease, @lease.worker_length.at) + 1)
    if byte(lease, @lease.size.at) == @size.large.byte then
      bodies_gone[#bodies_gone + 1] = id
    end
  else
    record = status .. revision .. STAMP .. dead_letter .. by .. fence .. sub(lease, @lease.ready_at.at)
    if dead_letter == @flag.yes then
      -- include copy
    end
  end
  local last, over, counts = #records, queue.over, queue.counts
  records[last + 1], records[last + 2] = id, record
  over[#over + 1] = revision .. id
  counts[status] = (counts[status] or 0) + 1
  if watched then
    finished[#finished + 1] = id
  end
end

-- Notes that a queue has tasks that are due at some times, given with their ids (see agenda.lua).
local function lower_due(name, list)
  local first = list[1]
  for i = 1, #list, 2 do
    first = tonumber(list[i]) < tonumber(first) and list[i] or first
  end
  call('ZADD', P .. 'due', 'LT', first, name)
end

-- Whether a worker waits in any of the queues.
local function is_any_waiting()
  local keys = {}
  for name in pairs(queues) do
    keys[#keys + 1] = of(name, 'w')
  end
  return keys[1] and call('EXISTS', unpack(keys)) > 0
end

-- Adds to a part of a queue, or takes from it. Most lists are empty, and the key of a part is not made for nothing.
local function write_list(command, name, part, list)
  if list[1] then
    spread(command, of(name, part), list)
  end
end

-- Writes all that was gathered. `wakes`: whether to wake workers for what became ready.
local function write_moves(wakes)
  wakes = wakes and is_any_waiting()
  spread('HSET', T, records)
  spread('HDEL', B, bodies_gone)
  for name, queue in pairs(queues) do
    write_list('ZREM', name, 'l', queue.unlease)
    write_list('RPUSH', name, 'f', queue.over)
    if #queue.over > 0 then
      -- The next look finds out when its retention has something to delete.
      call('ZADD', P .. 'pruning', 'LT', NOW, name)
    end
    write_list('RPUSH', name, 'q', queue.lane)
    write_list('ZADD', name, 'r', queue.ready)
    write_list('ZADD', name, 's', queue.later)
    if #queue.later > 0 then
      lower_due(name, queue.later)
    end
    write_list('ZADD', name, 'd', queue.waiting)
    local woken = #queue.ready / 2 + #queue.lane
    if queue.suspects then
      -- include suspected
      put_suspects(name, queue.suspects)
      woken = woken + #queue.suspects / 2
    end
    if sized then
      note_in(name, queue.ready)
      note_in(name, queue.suspects or {})
      note_in(name, queue.later)
      note_in(name, queue.waiting)
    end
    for count, change in pairs(queue.counts) do
      call('HINCRBY', of(name, 'n'), count, change)
    end
    if wakes and woken > 0 then
      wake(name, woken)
    end
    if on_ended and #queue.unlease > 0 then
      on_ended(name, queue.unlease)
    end
    if limited and #queue.unlease > 0 then
      wake(name, #queue.unlease, 'b')
    end
  end
  if #finished > 0 then
    -- include awaited
    tell_ended(finished)
  end
  queues, records, bodies_gone, finished = {}, {}, {}, {}
end
