-- Settling attempts, each compared by its fence and answered for itself.

-- Settles `count` attempts, four arguments each from `at`: id, the fence's 15 digits, an outcome and its payload:
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
  local ids, answers = {}, {}
  for i = 1, count do
    ids[i] = ARGV[at + 4 * i - 4]
  end
  local leases, settle_otherwise = call('HMGET', T, unpack(ids)), nil
  local high, low, next_high = take_numbers(count)
  local once = false

  -- Comparing by `find` makes no strings, whose hashing would cost more than the search. A queue is recognised by its
  -- name and that name's length.
  local find, last_queue, queue, unlease = string.find, nil, nil, nil
  for i = 1, count do
    local first, lease, id, answer = at + 4 * i - 4, leases[i], ids[i], @settled.lost
    local fence, outcome = ARGV[first + 1], ARGV[first + 2]
    local state = lease and byte(lease)
    if (state == @state.started.byte or state == @state.cancelling.byte)
      and find(lease, fence, @lease.revision.at, true) == @lease.revision.at then
      local revision = number_at(high, low, next_high, i - 1)
      if not last_queue or find(lease, last_queue, @lease.queue_length.at, true) ~= @lease.queue_length.at then
        local name = queue_of(lease)
        last_queue = sub(lease, @lease.queue_length.at, @lease.queue.at - 1 + #name)
        queue = gathered(name)
        unlease = queue.unlease
      end
      unlease[#unlease + 1] = id
      if outcome == @outcome.completed and state == @state.started.byte then
        finish(queue, id, lease, @state.completed, revision, @flag.no, @by.worker, fence, ARGV[first + 3])
        answer = @state.completed
      else
        if not settle_otherwise then
          -- include outcomes
          settle_otherwise = settle_outcome
        end
        local is_again
        answer, is_again = settle_otherwise(queue, id, lease, revision, outcome, ARGV[first + 3])
        once = once or is_again
      end
    elseif lease and is_over(lease) and byte(lease, @ending.by.at) == @by.worker.byte and sub(lease, @ending.fence) == fence then
      -- It is over, settled by its worker under this very fence: then this is a repetition.
      answer = status_of(lease)
    end
    answers[i] = answer
  end
  return table.concat(answers), once
end
