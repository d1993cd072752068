-- The moves of tasks, gathered and written at the end: record, lease and place of a task change in one step.

-- The gathered moves: records {id, record}, parameters to delete {id}, and by queue: unlease {id}, over
-- {revision..mark..id}, lane {position..id}, ready {score, id}, suspects {score, id} if any, later {due, id}, waiting {revision, id},
-- retried {id}, counts; `unbatched` {id}, those that left their batches; and `ran_since`, when one of the settled attempts
-- started, as a stamp.
local queues = {}
local records, bodies_gone, finished = {}, {}, {}
-- Whether a caller waits for the end of any task. Most often none does, and ended tasks are not gathered.
local watched = call('EXISTS', P .. 'awaited') == 1
-- Linked tasks that ended (see edges.lua): id, status, before what revision its edges were made, and whether it waited.
-- How many edges this step may still signal; and whether ends are only gathered for now.
local ended_links, signals_left, are_signals_held = {}, 200, false

-- Lists are created on demand: most moves fill one or two of a queue's lists. `most_kept`: how many bytes of
-- parameters its completed tasks keep, once it was asked for.
local ON_DEMAND = {
  __index = function(queue, part)
    local list = {}
    queue[part] = list
    return list
  end,
}

local function gathered(name)
  local queue = queues[name]
  if not queue then
    queue = setmetatable({ name = name, most_kept = false }, ON_DEMAND)
    queues[name] = queue
  end
  return queue
end

local function push(list, first, second)
  local count = #list
  list[count + 1] = first
  list[count + 2] = second
end

-- Notes a task that ends, with its last record, whose revision is `high` and `low`. Every end passes here. `is_read`: whether
-- its record must be read when it is deleted, which a long one must in any case.
local function put_end(queue, id, record, status, high, low, is_read)
  local last, over, counts = #records, queue.over, queue.counts
  records[last + 1], records[last + 2] = id, record
  is_read = is_read or #record > @mark.most_bytes
  over[#over + 1] = high .. low .. (is_read and @mark.needs_record or status) .. id
  counts[status] = (counts[status] or 0) + 1
  if watched then
    finished[#finished + 1] = id
  end
end

-- Ends a task. `lease` is its last record, with a history; `by` and `fence` identify the
-- settlement and its lease; a completed task has a result, or an empty one, and its parameters begin after `open`.
-- Makes no string that is only a part of another: to hash it would cost as much as to write it. `shape`, if given, is what the
-- record has from `size` to `linked`, and may have more: it is read once for all tasks with the same.
local finish
do
  local known_shape, is_large, is_remembered, is_linked
  -- The result that was marked last, and its mark: most often the results of a batch are of one length.
  local marked_length, marked = -1, ''
  function finish(queue, id, lease, status, revision, dead_letter, by, fence, result, open, shape)
    local record
    if not shape or shape ~= known_shape then
      local size, _, _, _, remember, linked = byte(lease, @lease.size.at, @lease.linked.at)
      known_shape, is_large, is_remembered, is_linked =
        shape, size == @size.large.byte, remember == @flag.yes.byte, linked ~= @linked.no.byte
    end
    if status == @state.completed then
      -- include remains
      record = status .. revision .. STAMP .. dead_letter .. by .. fence .. sub(lease, @lease.ready_at.at, open)
        .. mark .. result .. sub(lease, first)
    else
      record = status .. revision .. STAMP .. dead_letter .. by .. fence .. sub(lease, @lease.ready_at.at)
      if dead_letter == @flag.yes then
        -- include copy
      end
    end
    put_end(queue, id, record, status, revision, '', is_remembered)
    if is_linked then
      ended_links[#ended_links + 1] =
        { id = id, status = status, before = revision, has_waited = byte(lease) == @state.waiting.byte }
    end
  end
end

-- Notes the due times of tasks of a queue, given with their ids (see agenda.lua).
local function lower_due(name, list)
  local first, least = list[1], tonumber(list[1])
  for i = 3, #list, 2 do
    local due = tonumber(list[i])
    if due < least then
      first, least = list[i], due
    end
  end
  call('ZADD', P .. 'due', 'LT', first, name)
end

-- Whether a worker waits in any of the queues of which tasks become ready.
local function is_any_waiting()
  local keys = {}
  for name, queue in pairs(queues) do
    if queue.lane or queue.ready or queue.suspects then
      keys[#keys + 1] = of(name, 'w')
    end
  end
  return keys[1] and call('EXISTS', unpack(keys)) > 0
end

-- How each list of a queue is written: the part of the queue, and the command.
local PARTS = { unlease = 'l', over = 'f', lane = 'q', ready = 'r', later = 's', waiting = 'd' }
local COMMANDS = { unlease = 'ZREM', over = 'RPUSH', lane = 'RPUSH', ready = 'ZADD', later = 'ZADD', waiting = 'ZADD' }

-- Wakes workers for the tasks of a queue that became ready, but none that refuses their kind.
local function wake_for_ready(name, queue)
  local lane, gate = queue.lane or {}, nil
  local lists, count = { queue.ready or {}, queue.suspects or {} }, #lane
  for _, list in ipairs(lists) do
    count = count + #list / 2
  end
  if count > 0 and has_picky then
    local ids = {}
    for i, entry in ipairs(lane) do
      ids[i] = sub(entry, @entry.rest.at)
    end
    for _, list in ipairs(lists) do
      for i = 2, #list, 2 do
        ids[#ids + 1] = list[i]
      end
    end
    -- include alike
    gate = gate_in_common(ids)
  end
  if count > 0 then
    wake(name, count, nil, gate)
  end
end

-- Writes the gathered moves of a queue.
local function write_queue(name, queue, wakes)
  for part, list in pairs(queue) do
    if COMMANDS[part] and list[1] then
      spread(COMMANDS[part], of(name, PARTS[part]), list)
    end
  end
  if queue.over and queue.over[1] then
    -- The next look finds when its retention has something to delete.
    call('ZADD', P .. 'pruning', 'LT', NOW, name)
  end
  if queue.later and queue.later[1] then
    lower_due(name, queue.later)
  end
  if queue.suspects then
    -- include suspected
    put_suspects(name, queue.suspects)
  end
  if sized then
    for _, part in ipairs({ 'ready', 'suspects', 'later', 'waiting' }) do
      note_in(name, queue[part] or {})
    end
  end
  local ended = (queue.unlease and #queue.unlease or 0) + (queue.unbatched and #queue.unbatched or 0)
  if queue.counts or queue.retried or queue.ran_since then
    local queue_key, bucket, tasks = of(name, ''), nil, nil
    if queue.ran_since then
      local time = now - unpack_at('>I7', queue.ran_since)
      bucket, tasks = @history.ran, format('%d', ended)
    end
    local function happened(counter, growth)
      -- include history
      bucket = nil
    end
    for count, change in pairs(queue.counts or {}) do
      local growth = format('%d', change)
      call('HINCRBY', of(name, 'n'), count, growth)
      if change > 0 and count ~= 'removed' and count ~= 'ghosts' then
        -- What is left is `accepted`, or the status of tasks that ended.
        happened(count == 'accepted' and @history.accepted
          or count == @state.completed and @history.completed
          or (count == @state.failed or count == @state.stalled) and @history.failed
          or @history.other, growth)
      end
    end
    -- The time of attempts that ended no task is counted as well.
    if queue.retried or bucket then
      happened(@history.retried, format('%d', queue.retried and #queue.retried or 0))
    end
  end
  if wakes then
    wake_for_ready(name, queue)
  end
  if on_ended and ended > 0 then
    on_ended(name, queue.unlease or {})
    on_ended(name, queue.unbatched or {})
  end
  if limited and ended > 0 then
    wake(name, ended, 'b')
  end
end

-- Writes all gathered moves without signals. `wakes`: whether to wake workers for tasks that became ready.
local function flush_moves(wakes)
  for _, queue in pairs(queues) do
    setmetatable(queue, nil)
  end
  wakes = wakes and is_any_waiting()
  spread('HSET', T, records)
  spread('HDEL', B, bodies_gone)
  for name, queue in pairs(queues) do
    write_queue(name, queue, wakes)
  end
  if #finished > 0 then
    -- include awaited
    notify_ended(finished)
  end
  queues, records, bodies_gone, finished = {}, {}, {}, {}
end

-- Writes all gathered moves, and signals the ends of linked tasks.
local function write_moves(wakes)
  flush_moves(wakes)
  if ended_links[1] and not are_signals_held then
    -- include records scores dependencies
    signal_ended()
  end
end
