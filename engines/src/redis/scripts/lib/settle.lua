-- Settling attempts, each compared by its fence and answered for itself.

-- Settles `count` attempts, four arguments each from `at`: id, `L` and the fence's 15 digits, an outcome and its payload:
--   c         completed; payload: the result, or nothing
--   r<delay>  retry after so many microseconds; payload: kind letter and message of the failure
--   f<0|1>    failed, dead letter or not; payload: as for retry
--   x         cancelled
--   l<delay>  released
-- Answers a string with a letter for each: the digit of the status the task now has, or `-` for a lost lease; and
-- whether repeating this would answer otherwise.
local function settle(count, at)
  local ids, answers, by_tail, batch = {}, {}, {}, next_batch()
  for i = 1, count do
    ids[i] = ARGV[at + 4 * (i - 1)]
  end
  local states_now, once = call('HMGET', M, unpack(ids)), false

  -- Back to the queue: at once or later. Only a release at once keeps the place and the time it became due.
  local function again(queue, worker, id, lease, revision, attempt, delay, keeps_place)
    once = true
    local ready_at = NOW
    if delay > 0 then
      ready_at = format('%016.0f', now + delay)
    elseif keeps_place then
      ready_at = sub(lease, 33, 48)
    end
    local carry = revision .. ready_at .. attempt .. sub(lease, 55, 57) .. sub(lease, 17, 32) .. sub(lease, 63, 63)
    if delay > 0 then
      put_back(queue, id, carry .. worker, nil, ready_at)
      return '1'
    end
    local score = keeps_place and score_in(lease) or score_of(sub(lease, 63, 63), sub(revision, 1, 12), sub(revision, 13))
    put_back(queue, id, carry .. worker, score)
    return '2'
  end

  local function other_outcome(queue, worker, id, lease, revision, outcome, payload)
    local kind, large = byte(outcome), byte(lease, 58) == 76
    if kind == 114 or kind == 102 then
      note_error(id, sub(lease, 49, 54), worker, payload)
    end
    if byte(lease) == 75 then
      call('SREM', P .. 'cancel:' .. worker, id)
    end
    if byte(lease) == 75 or kind == 120 then
      local facts = sub(lease, 2)
      finish(queue, id, CANCELLED, revision, '0', 'S', facts, '', large)
      return CANCELLED
    elseif kind == 102 then
      finish(queue, id, FAILED, revision, sub(outcome, 2), 'S', sub(lease, 2), '', large)
      return FAILED
    elseif kind == 114 then
      return again(queue, worker, id, lease, revision, sub(lease, 49, 54), tonumber(sub(outcome, 2)), false)
    end
    local attempt = format('%06d', sub(lease, 49, 54) - 1)
    return again(queue, worker, id, lease, revision, attempt, tonumber(sub(outcome, 2)), true)
  end

  for i = 1, count do
    local first, lease, id = at + 4 * (i - 1), states_now[i], ids[i]
    local expected, outcome, answer = ARGV[first + 1], ARGV[first + 2], '-'
    local kind = lease and byte(lease)
    if kind == 70 then
      -- It is over. By this very fence, settled by its worker: then this is a repetition.
      if byte(lease, 35) == 83 and sub(lease, 36, 50) == sub(expected, 2) then
        answer = sub(lease, 2, 2)
      end
    elseif kind and sub(lease, 2, 16) == sub(expected, 2) then
      local tail = sub(lease, 81)
      local known = by_tail[tail]
      if not known then
        local name, worker = string.match(tail, '^(.*);(.*)$')
        known = { gathered(name), worker }
        by_tail[tail] = known
      end
      local queue, revision = known[1], batch .. format('%03d', i - 1)
      local unlease = queue.unlease
      unlease[#unlease + 1] = id
      if kind == 76 and outcome == 'c' then
        finish(queue, id, COMPLETED, revision, '0', 'S', sub(lease, 2), ARGV[first + 3], byte(lease, 58) == 76)
        answer = COMPLETED
      else
        answer = other_outcome(queue, known[2], id, lease, revision, outcome, ARGV[first + 3])
      end
    end
    answers[i] = answer
  end
  return table.concat(answers), once
end
