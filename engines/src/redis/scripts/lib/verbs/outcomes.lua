-- Outcomes of attempts other than plain completion. Included only if there is one.

-- include tries heard

-- Back to the queue: at once or later. Only a release at once keeps the place and the time it became due.
local function go_back(queue, id, lease, revision, attempt, delay, keeps_place)
  local position = keeps_place and delay == 0 and sub(lease, @lease.position) or revision
  local ready_at, due = STAMP, nil
  if delay > 0 then
    due = format('%d', now + delay)
    ready_at = stamp_of(now + delay)
  elseif keeps_place then
    ready_at = sub(lease, @lease.ready_at)
  end
  local status = due and @state.scheduled or @state.submitted
  -- A task whose attempt ended by itself is no longer suspect.
  local suspicion = keeps_place and sub(lease, @lease.suspicion) or @suspicion.none
  local record = status .. revision .. position .. ready_at .. sub(lease, @lease.started_at) .. two_bytes(attempt)
    .. sub(lease, @lease.crashes) .. suspicion .. sub(lease, @lease.blames.at)
  put_back(queue, id, record, not due and score_in(record), due)
  return status, true
end

-- The worker does not know the task: it goes back while its queue's patience lasts.
local function give_back_unknown(queue, id, lease, revision, outcome, payload)
  local patience, delay = string.match(outcome, '^(%d+):(%d+)$', @outcome.rest.at)
  local known = call('HGET', P .. 'u', id)
  if not known then
    known = NOW .. sub(lease, @lease.ready_at)
    call('HSET', P .. 'u', id, known)
  end
  if sub(known, @unknown.since) + patience > now then
    return go_back(queue, id, lease, revision, number_in(lease, @lease.attempt) - 1, tonumber(delay), true)
  end
  note_error(id, lease, payload)
  finish(queue, id, lease, @state.dropped, revision, sub(outcome, @outcome.dead_letter), @by.worker, sub(lease, @lease.revision))
  return @state.dropped, false
end

local GIVEN_BACK_AT_LAST = @failure.fatal .. 'given back at its last try'

-- Notes the last heartbeat that an outcome carries, if any. Returns the outcome without it.
local function part_heartbeat(id, outcome)
  local ends = string.find(outcome, '!', 1, true)
  if not ends then
    return outcome
  end
  local last = sub(outcome, ends + 1)
  local told_at = @last_heartbeat.rest.at + sub(last, @last_heartbeat.progress_length)
  local progress = told_at > @last_heartbeat.rest.at and sub(last, @last_heartbeat.rest.at, told_at - 1) or KEPT
  local news = call('EXISTS', X) == 1 and call('HGET', X, id)
  call('HSET', X, id, heard(news or nil, progress, sub(last, told_at)))
  return sub(outcome, 1, ends - 1)
end

-- Returns the status, and whether a repetition would get another answer. `open`: see `finish`.
local function settle_outcome(queue, id, lease, revision, outcome, payload, open)
  outcome = part_heartbeat(id, outcome)
  local kind, is_cancelled = sub(outcome, @outcome.kind), byte(lease) == @state.cancelling.byte
  local fence = sub(lease, @lease.revision)
  local span_at = string.find(outcome, ';', 1, true)
  if span_at then
    note_span(id, sub(outcome, span_at + 1))
    outcome = sub(outcome, 1, span_at - 1)
  end
  if kind == @outcome.retry or kind == @outcome.failed or kind == @outcome.stalled or kind == @outcome.aborted then
    note_error(id, lease, payload)
  end
  if is_cancelled then
    call('SREM', P .. 'cancel:' .. worker_of(lease), id)
  end
  if is_cancelled or kind == @outcome.cancelled then
    finish(queue, id, lease, @state.cancelled, revision, @flag.no, is_cancelled and @by.cancelling or @by.worker, fence)
    return @state.cancelled, false
  elseif kind == @outcome.completed then
    finish(queue, id, lease, @state.completed, revision, @flag.no, @by.worker, fence, payload, open)
    return @state.completed, false
  elseif kind == @outcome.failed or kind == @outcome.stalled then
    local status = kind == @outcome.failed and @state.failed or @state.stalled
    finish(queue, id, lease, status, revision, sub(outcome, @outcome.dead_letter), @by.worker, fence)
    return status, false
  elseif kind == @outcome.aborted then
    finish(queue, id, lease, @state.aborted, revision, @flag.no, @by.worker, fence)
    return @state.aborted, false
  elseif kind == @outcome.unknown then
    return give_back_unknown(queue, id, lease, revision, outcome, payload)
  end
  -- It ran, so the patience for an unknown task begins again.
  call('HDEL', P .. 'u', id)
  local attempt, delay = number_in(lease, @lease.attempt), tonumber(sub(outcome, @outcome.dead_letter.at))
  local counts, exhausted, dead_letter = tries_of(lease)
  if kind == @outcome.unstarted then
    return go_back(queue, id, lease, revision, attempt - 1, delay, true)
  elseif exhausted then
    if kind == @outcome.released then
      note_error(id, lease, GIVEN_BACK_AT_LAST)
    end
    finish(queue, id, lease, exhausted, revision, dead_letter, @by.worker, fence)
    return exhausted, false
  elseif kind == @outcome.retry then
    push(queue.retried, id)
    return go_back(queue, id, lease, revision, attempt, delay, false)
  end
  return go_back(queue, id, lease, revision, counts and attempt or attempt - 1, delay, true)
end
