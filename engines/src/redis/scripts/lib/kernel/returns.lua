-- The side records of tasks that go back, or end without completing.

local MAX_ERRORS = 100

-- The record of a task that waits, with a history if it has none yet.
local function with_history(record)
  if byte(record) ~= @state.fresh.byte then
    return record
  end
  local position = sub(record, @fresh.revision)
  return @state.submitted .. position .. position .. sub(record, @fresh.submitted_at) .. NO_STAMP .. @attempts.none .. '\0'
    .. sub(record, @fresh.core.at)
end

-- A ready task joins its queue, or the suspects of its queue.
local function push_ready(queue, record, score, id)
  local has_history = byte(record) ~= @state.fresh.byte
  if has_history and suspicion_in(record) > 1 then
    queue.suspects = queue.suspects or {}
    push(queue.suspects, score, id)
  else
    push(queue.ready, score, id)
  end
end

-- Splits news: the mark and the span, or nothing; and the rest.
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

-- Puts a task back with its new record: into its queue with a score, or among the scheduled without one.
local function put_back(queue, id, record, score, due)
  push(records, id, record)
  if score then
    push_ready(queue, record, score, id)
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

-- Notes an error of the attempt of a lease.
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
