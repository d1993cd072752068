#!lua flags=allow-oom
-- Cancels tasks: a waiting one is over at once; a running one is marked and its worker notified.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- ids, at most 1,000.
-- Returns a letter for each: d done, r requested, u unknown, or the digit of the status it had when it was over already.

-- include base numbers wake moves owned aside lane places withdraw

local told, by_queue, answers, before = {}, {}, {}, {}
local high, low, next_high = take_numbers(#ARGV - 1)

local function mark_running(id, lease)
  local worker = worker_of(lease)
  push(records, id, @state.cancelling .. sub(lease, @lease.revision.at))
  call('SADD', P .. 'cancel:' .. worker, id)
  told[worker] = true
end

-- Notes a task to withdraw from its queue.
local function note_withdrawn(id, record, revision)
  local name = queue_of(record)
  local list = by_queue[name] or { ids = {}, found = {}, revisions = {} }
  local place = #list.ids + 1
  by_queue[name] = list
  list.ids[place], list.found[place], list.revisions[place] = id, record, revision
end

local function cancel(id, record, index)
  if not record then
    return @cancelled.unknown
  elseif is_over(record) then
    return status_of(record)
  elseif is_running(record) then
    mark_running(id, record)
    return @cancelled.requested
  end
  note_withdrawn(id, record, number_at(high, low, next_high, index))
  return @cancelled.done
end

local ids = { unpack(ARGV, 2) }
for i, record in ipairs(owned(ids, call('HMGET', T, unpack(ids)))) do
  local id = ARGV[i + 1]
  local answer = before[id] or cancel(id, record, i - 1)
  answers[i] = answer
  -- If the id is given twice, the task is over the second time.
  before[id] = answer == @cancelled.done and @state.cancelled or answer
end
for name, list in pairs(by_queue) do
  withdraw(name, list.ids, list.found, list.revisions)
end
write_moves(false)
thin_lanes()
for worker in pairs(told) do
  call('PUBLISH', P .. 'all', 'cancel ' .. worker)
end
return table.concat(answers)
