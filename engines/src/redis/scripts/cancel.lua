#!lua flags=allow-oom
-- Cancels tasks: what waits is over at once; what runs is marked and its worker told.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2- ids.
-- Answers a letter for each: d done, r requested, u unknown, or the digit of the status it had when it was over already.

-- include base numbers wake moves

local NO_FENCE = '000000000000000'
local batch, told = next_batch(), {}

local function mark_running(id, lease)
  local worker = string.match(lease, ';(.*)$', 81)
  push(states, id, 'K' .. sub(lease, 2))
  call('SADD', P .. 'cancel:' .. worker, id)
  told[worker] = true
end

-- A lease for a task that has none: a fence of zeros, and what its earlier attempts left behind.
local function lease_of(id, record)
  local ready_at, attempt, crashes, started_at, worker = sub(record, 1, 16), '000000', '000', NO_TIME, ''
  local carry = call('HGET', A, id)
  if carry then
    ready_at, attempt, crashes = sub(carry, 16, 31), sub(carry, 32, 37), sub(carry, 38, 40)
    started_at, worker = sub(carry, 41, 56), sub(carry, 58)
  end
  local place = format('%17s', '0')
  return 'L' .. NO_FENCE .. started_at .. ready_at .. attempt .. crashes .. sub(record, 33, 38) .. place .. queue_of(record)
    .. ';' .. worker
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
  local name = queue_of(record)
  local lease = lease_of(id, record)
  if call('ZREM', of(name, 'r'), id) == 0 then
    call('ZREM', of(name, 's'), id)
  end
  call('HDEL', A, id)
  finish(gathered(name), id, CANCELLED, batch .. three(index), '0', 'N', lease)
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
