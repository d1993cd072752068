#!lua flags=allow-oom
-- Gives scheduled tasks another time. Those whose time has come join the ends of their queues, and workers are woken.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 when they may start (see `start`; nothing: now), 3- ids, at most
-- 1,000.
-- Returns a letter for each: d it is scheduled, n it is submitted now, u unknown, or the digit of the status of one that was
-- not scheduled.

-- include base numbers wake moves batches lane agenda maintain due

local due = due_of(ARGV[2])
local time, ready_at = format('%.0f', due), stamp_of(due)
local high, low, next_high = take_numbers(#ARGV - 2)
local late, answers, before = {}, {}, {}

-- Its record and its place are written at once: those that are late are read again below.
local function move(id, record, revision)
  local name = queue_of(record)
  call('HSET', T, id, @state.scheduled .. revision .. sub(record, @lease.position) .. ready_at
    .. sub(record, @lease.started_at.at))
  call('ZADD', of(name, 's'), time, id)
  if due <= now then
    late[#late + 1] = { id = id, queue = name }
  else
    call('ZADD', BOUNDS.s, 'LT', time, name)
  end
end

local function reschedule(id, record, index)
  if not record then
    return @rescheduled.unknown
  elseif byte(record) ~= @state.scheduled.byte then
    return status_of(record)
  end
  move(id, record, number_at(high, low, next_high, index))
  return due <= now and @rescheduled.now or @rescheduled.done
end

local ids = { unpack(ARGV, 3) }
for i, record in ipairs(all_as_leased(ids, call('HMGET', T, unpack(ids)))) do
  local id = ids[i]
  local answer = before[id] or reschedule(id, record, i - 1)
  answers[i] = answer
  -- If the id is given twice, the task is submitted the second time, unless its time is still to come.
  before[id] = answer == @rescheduled.now and @state.submitted or answer
end
promote(late)
write_moves(true)
return table.concat(answers)
