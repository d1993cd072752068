-- The moves of tasks, gathered and written at the end: state, lease and place of a task change in one step.
--
-- The strings that stand for a task's state. Widths are fixed so that they are read by position; `state.rs` is the other
-- reader. Digits are padded with zeros; a time of zeros is none.
--
--   record  t  1-16 submitted_at, 17-32 fingerprint, 33 size (S small, L large: parameters in `b`), 34 dead letter
--              (0 1), 35-37 max_crashes, 38 priority, 39-41 length of the queue's name, 42- that name, then what only
--              Rust reads
--   lease   m  1 L or K (a cancel is requested), 2-16 fence, 17-32 started_at, 33-48 ready_at, 49-54 attempt,
--              55-57 crashes, 58-63 the record's 33-38, 64-80 score in the queue, 81- queue;worker
--              Always over 64 bytes, so that `m` is never a listpack, in which each access would be a linear search.
--   over    m  1 F, 2 status, 3-18 completed_at, 19-33 revision, 34 dead letter, 35 S (settled by its worker) or N (not),
--              36- the lease, line feed, result
--   carry   a  1-15 revision, 16-31 ready_at, 32-37 attempt, 38-40 crashes, 41-56 started_at, 57 priority, 58- worker
--              Only of a task in a queue or scheduled that is not as it was submitted.
--   errors  h  1-3 how many, then each: 5 digits length, 16 at, 6 attempt, worker;, kind letter, message; a capital letter
--             is followed by the kind of error and a ;
--   news    x  perhaps T and the 55 characters of the span of the last attempt that ended; then
--              1-16 heartbeat_at, 17-22 length of progress, progress, checkpoint
--   copy    o  1-32 lengths, 8 digits each, of the record, the state, the news and the errors; then these, then the
--              parameters if they lie apart

local SCHEDULED, SUBMITTED, COMPLETED, FAILED, CANCELLED, DROPPED, STALLED = '1', '2', '4', '5', '6', '8', '9'
local MAX_ERRORS = 100

-- What is gathered, by queue: unlease {id}, over {revision..id}, ready {score, id}, later {score, id}, counts by
-- status, and apart from these how many completed.
local queues = {}
local states, carries, bodies_gone, states_gone, finished = {}, {}, {}, {}, {}
-- include awaited

local function gathered(name)
  local queue = queues[name]
  if not queue then
    queue = { name = name, unlease = {}, over = {}, ready = {}, later = {}, counts = {}, completed = 0 }
    queues[name] = queue
  end
  return queue
end

-- The score a leased task had in its queue.
local function score_in(lease)
  return string.match(sub(lease, 64, 80), '%S+')
end

local function push(list, first, second)
  local count = #list
  list[count + 1] = first
  list[count + 2] = second
end

-- Puts a copy of a task that failed for good on the outbox, with all that is known of it.
local function keep_copy(id, revision, state)
  local record, news, errors = call('HGET', T, id) or '', call('HGET', X, id) or '', call('HGET', H, id) or ''
  local lengths = format('%08d%08d%08d%08d', #record, #state, #news, #errors)
  local key, body = revision .. id, call('HGET', B, id) or ''
  call('HSET', P .. 'o', key, lengths .. record .. state .. news .. errors .. body)
  -- All of one score, so that the order is that of the revisions.
  call('ZADD', P .. 'o:order', 0, key)
end

-- A task is over, and did not complete: that is written by `settle` itself. `lease` is its last one.
local function finish(queue, id, status, revision, dead_letter, by, lease)
  local state = 'F' .. status .. NOW .. revision .. dead_letter .. by .. lease .. '\n'
  push(states, id, state)
  if dead_letter == '1' then
    keep_copy(id, revision, state)
  end
  push(queue.over, revision .. id)
  queue.counts[status] = (queue.counts[status] or 0) + 1
  if watched then
    finished[#finished + 1] = id
  end
end

-- Parts news: the T and the span, or nothing; and the rest.
local function part_news(news)
  if byte(news) == 84 then
    return sub(news, 1, 56), sub(news, 57)
  end
  return '', news
end

-- Notes the span of the attempt that ends.
local function note_span(id, span)
  local news = call('EXISTS', X) == 1 and call('HGET', X, id) or NO_TIME .. '000000'
  local _, rest = part_news(news)
  call('HSET', X, id, 'T' .. span .. rest)
end

-- A task goes back: to its queue with a score, or to its time with none.
local function put_back(queue, id, carry, score, due)
  push(carries, id, carry)
  states_gone[#states_gone + 1] = id
  if score then
    push(queue.ready, score, id)
  else
    push(queue.later, due, id)
  end
  -- Heartbeat and progress belong to the attempt that ended; the checkpoint and the span are for the next.
  local news = call('EXISTS', X) == 1 and call('HGET', X, id)
  if news then
    local span, rest = part_news(news)
    local checkpoint = sub(rest, 23 + sub(rest, 17, 22))
    if checkpoint == '' and span == '' then
      call('HDEL', X, id)
    else
      call('HSET', X, id, span .. NO_TIME .. '000000' .. checkpoint)
    end
  end
end

-- Notes an error of the attempt that a lease stands for.
local function note_error(id, attempt, worker, failure)
  local entry = NOW .. attempt .. worker .. ';' .. failure
  local history = call('HGET', H, id) or '000'
  local count, rest = tonumber(sub(history, 1, 3)), sub(history, 4)
  if count >= MAX_ERRORS then
    rest = sub(rest, 6 + sub(rest, 1, 5))
    count = count - 1
  end
  call('HSET', H, id, format('%03d', count + 1) .. rest .. format('%05d', #entry) .. entry)
end

-- Writes all that was gathered. `wakes`: whether workers are told of what became ready.
local function write_moves(wakes)
  spread('HSET', M, states)
  spread('HDEL', M, states_gone)
  spread('HSET', A, carries)
  spread('HDEL', B, bodies_gone)
  for name, queue in pairs(queues) do
    spread('ZREM', of(name, 'l'), queue.unlease)
    spread('RPUSH', of(name, 'f'), queue.over)
    spread('ZADD', of(name, 'r'), queue.ready)
    spread('ZADD', of(name, 's'), queue.later)
    if sized then
      note_in(name, queue.ready)
      note_in(name, queue.later)
    end
    if queue.completed > 0 then
      call('HINCRBY', of(name, 'n'), COMPLETED, queue.completed)
    end
    for status, count in pairs(queue.counts) do
      call('HINCRBY', of(name, 'n'), status, count)
    end
    if wakes and #queue.ready > 0 then
      wake(name, #queue.ready / 2)
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
  queues, states, carries, bodies_gone, states_gone, finished = {}, {}, {}, {}, {}, {}
end
