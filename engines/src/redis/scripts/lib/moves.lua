-- The moves of tasks, gathered and written at the end: record, lease and place of a task change in one step.

local MAX_ERRORS = 100

-- What is gathered: records {id, record}, parameters that are let go {id}, and by queue: unlease {id}, over
-- {revision..id}, lane {position..id}, ready {score, id}, later {due, id}, waiting {revision, id}, counts.
local queues = {}
local records, bodies_gone, finished = {}, {}, {}
-- include awaited

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

-- The record of a task that waits, with a history if it has none yet.
local function with_history(record)
  if byte(record) ~= @state.fresh.byte then
    return record
  end
  local position = sub(record, @fresh.revision)
  return @state.submitted .. position .. position .. sub(record, @fresh.submitted_at) .. NO_STAMP .. @attempts.none .. '\0'
    .. sub(record, @fresh.core.at)
end

-- Puts a copy of a task that failed for good on the outbox, with all that is known of it.
local function keep_copy(id, revision, record)
  local news, errors = call('HGET', X, id) or '', call('HGET', H, id) or ''
  local lengths = format('%08d%08d%08d', #record, #news, #errors)
  local key, body = revision .. id, call('HGET', B, id) or ''
  call('HSET', P .. 'o', key, lengths .. record .. news .. errors .. body)
  -- All of one score, so that the order is that of the revisions.
  call('ZADD', P .. 'o:order', 0, key)
end

-- A task ends. All ends pass here. `lease` is its last record, with a history; `by` and `fence` say who settled what lease;
-- a completed task has a result, or an empty one, and lets its parameters go.
local function finish(queue, id, lease, status, revision, dead_letter, by, fence, result)
  local record = status .. revision .. STAMP .. dead_letter .. by .. fence
  if status == @state.completed then
    local high, low = byte(lease, @lease.open_length)
    record = record .. sub(lease, @lease.ready_at.at, @lease.queue.at - 1 + high * 256 + low) .. result
      .. sub(lease, #lease - byte(lease, @lease.worker_length.at) + 1)
    if byte(lease, @lease.size.at) == @size.large.byte then
      bodies_gone[#bodies_gone + 1] = id
    end
  else
    record = record .. sub(lease, @lease.ready_at.at)
    if dead_letter == @flag.yes then
      keep_copy(id, revision, record)
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

-- Parts news: the mark and the span, or nothing; and the rest.
local function part_news(news)
  if byte(news) == @span.kept.byte then
    return sub(news, 1, @span.span.last), sub(news, @span.rest.at)
  end
  return '', news
end

-- Notes the span of the attempt that ends.
local function note_span(id, span)
  local news = call('EXISTS', X) == 1 and call('HGET', X, id) or NO_TIME .. '000000'
  local _, rest = part_news(news)
  call('HSET', X, id, @span.kept .. span .. rest)
end

-- The progress and the checkpoint in news without a span.
local function told_in(news)
  local length = sub(news, @news.progress_length)
  return sub(news, @news.rest.at, @news.rest.at - 1 + length), sub(news, @news.rest.at + length)
end

-- A task goes back with its new record: to its queue with a score, or to its time with none.
local function put_back(queue, id, record, score, due)
  push(records, id, record)
  if score then
    push(queue.ready, score, id)
  else
    push(queue.later, due, id)
  end
  -- Heartbeat and progress belong to the attempt that ended; the checkpoint and the span are for the next.
  local news = call('EXISTS', X) == 1 and call('HGET', X, id)
  if news then
    local span, rest = part_news(news)
    local _, checkpoint = told_in(rest)
    if checkpoint == '' and span == '' then
      call('HDEL', X, id)
    else
      call('HSET', X, id, span .. NO_TIME .. '000000' .. checkpoint)
    end
  end
end

-- Notes an error of the attempt that a lease stands for.
local function note_error(id, lease, failure)
  local entry = NOW .. format('%06d', number_in(lease, @lease.attempt)) .. worker_of(lease) .. ';' .. failure
  local history = call('HGET', H, id) or '000'
  local count, rest = tonumber(sub(history, @history.count)), sub(history, @history.rest.at)
  if count >= MAX_ERRORS then
    rest = sub(rest, @error.at.at + sub(rest, @error.length))
    count = count - 1
  end
  call('HSET', H, id, format('%03d', count + 1) .. rest .. format('%05d', #entry) .. entry)
end

-- Writes all that was gathered. `wakes`: whether workers are told of what became ready.
local function write_moves(wakes)
  spread('HSET', T, records)
  spread('HDEL', B, bodies_gone)
  for name, queue in pairs(queues) do
    spread('ZREM', of(name, 'l'), queue.unlease)
    spread('RPUSH', of(name, 'f'), queue.over)
    spread('RPUSH', of(name, 'q'), queue.lane)
    spread('ZADD', of(name, 'r'), queue.ready)
    spread('ZADD', of(name, 's'), queue.later)
    spread('ZADD', of(name, 'd'), queue.waiting)
    if sized then
      note_in(name, queue.ready)
      note_in(name, queue.later)
      note_in(name, queue.waiting)
    end
    for count, change in pairs(queue.counts) do
      call('HINCRBY', of(name, 'n'), count, change)
    end
    local woken = #queue.ready / 2 + #queue.lane
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
    tell_ended(finished)
  end
  queues, records, bodies_gone, finished = {}, {}, {}, {}
end
