-- Settling attempts, each compared by its fence and answered for itself.

-- Settles `count` attempts, four arguments each from `at`: id, `L` and the fence's 15 digits, an outcome and its payload:
--   c         completed; payload: the result, or nothing
--   r<delay>  retry after so many microseconds; payload: kind letter and message of the failure
--             (a capital letter is followed by the kind of error and a ;)
--   f<0|1>    failed, dead letter or not; payload: as for retry
--   s<0|1>    stalled, likewise
--   u<0|1><patience>:<delay>  unknown to its worker: released, or dropped when patience ends; payload: as for retry
--   x         cancelled
--   l<delay>  released
-- Each but `c` may be followed by ; and the span that the task's next attempt is to know.
-- Answers a string with a letter for each: the digit of the status the task now has, or `-` for a lost lease; and
-- whether repeating this would answer otherwise.
local function settle(count, at)
  local ids, answers, by_tail = {}, {}, {}
  local high, low, next_high = take_numbers(count)
  for i = 1, count do
    ids[i] = ARGV[at + 4 * i - 4]
  end
  local leases, once = call('HMGET', M, unpack(ids)), false

  -- Back to the queue: at once or later. Only a release at once keeps the place and the time it became due.
  local function again(queue, worker, id, lease, revision, attempt, delay, keeps_place)
    once = true
    local ready_at = NOW
    if delay > 0 then
      ready_at = format('%016.0f', now + delay)
    elseif keeps_place then
      ready_at = sub(lease, 33, 48)
    end
    local priority = sub(lease, 63, 63)
    local carry = revision .. ready_at .. attempt .. sub(lease, 55, 57) .. sub(lease, 17, 32) .. priority .. worker
    if delay > 0 then
      put_back(queue, id, carry, nil, ready_at)
      return SCHEDULED
    end
    put_back(queue, id, carry, keeps_place and score_in(lease) or score_of(priority, revision))
    return SUBMITTED
  end

  -- The worker does not know the task: it goes back while its queue's patience lasts.
  local function stranger(queue, worker, id, lease, revision, outcome, payload)
    local patience, delay = string.match(outcome, '^u.(%d+):(%d+)$')
    local since = call('HGET', P .. 'u', id)
    if not since then
      since = NOW
      call('HSET', P .. 'u', id, since)
    end
    if since + patience > now then
      local attempt = format('%06d', sub(lease, 49, 54) - 1)
      return again(queue, worker, id, lease, revision, attempt, tonumber(delay), true)
    end
    note_error(id, sub(lease, 49, 54), worker, payload)
    finish(queue, id, DROPPED, revision, sub(outcome, 2, 2), 'S', lease)
    return DROPPED
  end

  local function other_outcome(queue, worker, id, lease, revision, outcome, payload)
    local kind, is_cancelled = byte(outcome), byte(lease) == 75
    local span_at = string.find(outcome, ';', 1, true)
    if span_at then
      note_span(id, sub(outcome, span_at + 1))
      outcome = sub(outcome, 1, span_at - 1)
    end
    if kind == 114 or kind == 102 or kind == 115 then
      note_error(id, sub(lease, 49, 54), worker, payload)
    end
    if is_cancelled then
      call('SREM', P .. 'cancel:' .. worker, id)
    end
    if is_cancelled or kind == 120 then
      finish(queue, id, CANCELLED, revision, '0', 'S', lease)
      return CANCELLED
    elseif kind == 102 then
      finish(queue, id, FAILED, revision, sub(outcome, 2), 'S', lease)
      return FAILED
    elseif kind == 115 then
      finish(queue, id, STALLED, revision, sub(outcome, 2), 'S', lease)
      return STALLED
    elseif kind == 117 then
      return stranger(queue, worker, id, lease, revision, outcome, payload)
    end
    -- It ran: how long nobody knew it is counted anew.
    call('HDEL', P .. 'u', id)
    if kind == 114 then
      return again(queue, worker, id, lease, revision, sub(lease, 49, 54), tonumber(sub(outcome, 2)), false)
    end
    local attempt = format('%06d', sub(lease, 49, 54) - 1)
    return again(queue, worker, id, lease, revision, attempt, tonumber(sub(outcome, 2)), true)
  end

  -- The queue and the worker at the end of a lease, which many leases of a batch share.
  local function learn(tail)
    local name, worker = string.match(tail, '^(.*);(.*)$')
    local known = { gathered(name), worker }
    by_tail[tail] = known
    return known
  end

  -- Comparing by `find` makes no strings, whose hashing would cost more than the search.
  local find = string.find
  local completed, last_tail, queue, worker, unlease, over = 'F' .. COMPLETED .. NOW, nil, nil, nil, nil, nil
  for i = 1, count do
    local first, lease, id, answer = at + 4 * i - 4, leases[i], ids[i], '-'
    local expected, outcome = ARGV[first + 1], ARGV[first + 2]
    local is_running = lease and find(lease, expected, 1, true) == 1
    if is_running or lease and byte(lease) == 75 and sub(lease, 2, 16) == sub(expected, 2) then
      local leading, place = high, low + i - 1
      if place >= 1000 then
        leading, place = next_high, place - 1000
      end
      local rest = place % 100
      if not last_tail or #lease ~= 80 + #last_tail or find(lease, last_tail, 81, true) ~= 81 then
        local tail = sub(lease, 81)
        local known = by_tail[tail] or learn(tail)
        last_tail, queue, worker, unlease, over = tail, known[1], known[2], known[1].unlease, known[1].over
      end
      local revision = leading .. ONE[(place - rest) / 100 + 1] .. TWO[rest + 1]
      unlease[#unlease + 1] = id
      if is_running and outcome == 'c' then
        -- As `finish` does, without its costs: this is what most settlements are.
        local last = #states
        states[last + 1] = id
        states[last + 2] = completed .. revision .. '0S' .. lease .. '\n' .. ARGV[first + 3]
        over[#over + 1] = revision .. id
        queue.completed = queue.completed + 1
        if byte(lease, 58) == 76 then
          bodies_gone[#bodies_gone + 1] = id
        end
        if watched then
          finished[#finished + 1] = id
        end
        answer = COMPLETED
      else
        answer = other_outcome(queue, worker, id, lease, revision, outcome, ARGV[first + 3])
      end
    elseif lease and byte(lease) == 70 and byte(lease, 35) == 83 and sub(lease, 37, 51) == sub(expected, 2) then
      -- It is over, settled by its worker under this very fence: then this is a repetition.
      answer = sub(lease, 2, 2)
    end
    answers[i] = answer
  end
  return table.concat(answers), once
end
