#!lua flags=allow-oom
-- Cancels tasks: what waits is over at once; what runs is marked and its worker told.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2- ids.
-- Answers a letter for each: d done, r requested, u unknown, or the digit of the status it had when it was over already.

-- include base numbers wake moves aside lane places withdraw

local told = {}
local high, low, next_high = take_numbers(#ARGV - 1)

local function mark_running(id, lease)
  local worker = worker_of(lease)
  push(records, id, @state.cancelling .. sub(lease, @lease.revision.at))
  call('SADD', P .. 'cancel:' .. worker, id)
  told[worker] = true
end

local function cancel(id, index)
  local record = call('HGET', T, id)
  if not record then
    return @cancelled.unknown
  elseif is_over(record) then
    return status_of(record)
  elseif is_running(record) then
    mark_running(id, record)
    return @cancelled.requested
  end
  withdraw(id, record, number_at(high, low, next_high, index))
  return @cancelled.done
end

local answers, before = {}, {}
for i = 2, #ARGV do
  local id = ARGV[i]
  local answer = before[id] or cancel(id, i - 2)
  answers[i - 1] = answer
  -- Named again, what was done just now is over.
  before[id] = answer == @cancelled.done and @state.cancelled or answer
end
write_moves(false)
for worker in pairs(told) do
  call('PUBLISH', P .. 'all', 'cancel ' .. worker)
end
return table.concat(answers)
