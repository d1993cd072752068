-- Settles attempts, each compared by its fence and answered independently.

-- Settles `count` attempts, four arguments each from `at`: id, the fence's 15 digits, an outcome and its payload:
--   c         completed; payload: the result, or nothing
--   r<delay>  retry after so many microseconds; payload: kind letter and message of the failure
--             (a capital letter is followed by the kind of error and a ;)
--   f<0|1>    failed, dead letter or not; payload: as for retry
--   s<0|1>    stalled, likewise
--   a         aborted; payload: as for retry
--   u<0|1><patience>:<delay>  unknown to its worker: released, or dropped when patience ends; payload: as for retry
--   x         cancelled
--   l<delay>  released; n<delay> before the task began
-- Each but `c` may be followed by ; and the span that the task's next attempt is to know; each by ! and what the attempt
-- reported last (`last_heartbeat`).
-- Returns a string with a letter for each: the digit of the status the task now has, `-` for a lost lease, or, if the
-- task is over by a settlement of this lease, `=`, or `#` if its cancel was requested before; and whether repeating this would answer otherwise.
local function settle(count, at)
  local ids, answers = {}, {}
  for i = 1, count do
    ids[i] = ARGV[at + 4 * i - 4]
  end
  local leases, settle_otherwise, own, leave_all = call('HMGET', T, unpack(ids)), nil, nil, nil
  local high, low, next_high = take_numbers(count)
  local once, are_alike = false, true

  -- Comparing by `find` creates no strings, whose hashing would cost more than the search. Tasks of a batch most often
  -- share their shape: what their unchanging part says from the size of their parameters to their queue.
  local find, shape, queue, unlease, open = string.find, nil, nil, nil, nil
  for i = 1, count do
    local first, lease, id, answer = at + 4 * i - 4, leases[i], ids[i], @settled.lost
    local fence, outcome = ARGV[first + 1], ARGV[first + 2]
    local state = lease and byte(lease)
    if state == @state.fresh.byte then
      if not own then
        -- include records batches own_leases
        own, leave_all = own_by_fence, leave_batches
      end
      lease = own(id, fence, lease)
      state = lease and byte(lease)
    end
    if (state == @state.started.byte or state == @state.cancelling.byte)
      and find(lease, fence, @lease.revision.at, true) == @lease.revision.at then
      local leading, place = high, low + i - 1
      if place >= 1000 then
        leading, place = next_high, place - 1000
      end
      local revision = leading .. sub(THREE, 3 * place + 1, 3 * place + 3)
      if not shape or find(lease, shape, @lease.size.at, true) ~= @lease.size.at then
        local open_high, open_low, length = byte(lease, @lease.open_length.at, @lease.queue_length.at)
        shape = sub(lease, @lease.size.at, @lease.queue.at - 1 + length)
        queue = gathered(sub(lease, @lease.queue.at, @lease.queue.at - 1 + length))
        queue.ran_since = sub(lease, @lease.started_at)
        unlease, open = queue.unlease, @lease.queue.at - 1 + open_high * 256 + open_low
      end
      unlease[#unlease + 1] = id
      if outcome == @outcome.completed and state == @state.started.byte then
        finish(queue, id, lease, @state.completed, revision, @flag.no, @by.worker, fence, ARGV[first + 3], open, shape)
        answer = @state.completed
      else
        if not settle_otherwise then
          -- include records scores returns outcomes
          settle_otherwise = settle_outcome
        end
        local is_again
        answer, is_again = settle_otherwise(queue, id, lease, revision, outcome, ARGV[first + 3], open)
        once = once or is_again
      end
    elseif lease and state >= @state.completed.byte and state <= @state.stalled.byte
      and byte(lease, @ending.by.at) ~= @by.store.byte and sub(lease, @ending.fence) == fence then
      -- Whether this is a repetition decides the caller (see `is_repetition` in transition.rs).
      answer = byte(lease, @ending.by.at) == @by.cancelling.byte and @settled.over_by_cancel or @settled.over
    end
    answers[i] = answer
    are_alike = are_alike and answer == answers[1]
  end
  if leave_all then
    leave_all()
  end
  return are_alike and count > 0 and string.rep(answers[1], count) or table.concat(answers), once
end
