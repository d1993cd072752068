#!lua flags=allow-oom
-- Cancels tasks: what waits is over at once; what runs is marked and its worker told.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2- ids.
-- Answers a letter for each: d done, r requested, u unknown, or the digit of the status it had when it was over already.

-- include base numbers wake moves aside withdraw

local told = {}
local high, low, next_high = take_numbers(#ARGV - 1)

local function mark_running(id, lease)
  local worker = string.match(lease, ';(.*)$', 81)
  push(states, id, 'K' .. sub(lease, 2))
  call('SADD', P .. 'cancel:' .. worker, id)
  told[worker] = true
end

local function cancel(id, index)
  local state = call('HGET', M, id)
  if state and byte(state) == 70 then
    return sub(state, 2, 2)
  elseif state then
    mark_running(id, state)
    return 'r'
  end
  local record = call('HGET', T, id)
  if not record then
    return 'u'
  end
  withdraw(id, record, number_at(high, low, next_high, index))
  return 'd'
end

local answers, before = {}, {}
for i = 2, #ARGV do
  local id = ARGV[i]
  local answer = before[id] or cancel(id, i - 2)
  answers[i - 1] = answer
  -- Named again, what was done just now is over.
  before[id] = answer == 'd' and CANCELLED or answer
end
write_moves(false)
for worker in pairs(told) do
  call('PUBLISH', P .. 'all', 'cancel ' .. worker)
end
return table.concat(answers)
