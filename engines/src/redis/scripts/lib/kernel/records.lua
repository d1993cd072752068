-- Reads records.

-- Whether a task with this record is over.
local function is_over(record)
  local state = byte(record)
  return state >= @state.completed.byte and state <= @state.stalled.byte
end

local function is_running(record)
  local state = byte(record)
  return state == @state.started.byte or state == @state.cancelling.byte
end

-- The digit of a task's status.
local function status_of(record)
  local state = sub(record, @record.state)
  return state == @state.fresh and @state.submitted or state == @state.cancelling and @state.started or state
end

-- Where the unchanging part of a record begins.
local function core_at(record)
  if byte(record) == @state.fresh.byte then
    return @fresh.core.at
  end
  return is_over(record) and @ending.core.at or @lease.core.at
end

-- The unchanging part of a record, and what follows it.
local function core_of(record)
  return sub(record, core_at(record))
end

local function queue_in(core)
  return sub(core, @core.queue.at, @core.queue.at - 1 + byte(core, @core.queue_length.at))
end

-- The queue in a record, cut out directly: a copy of the whole core would cost more than the rest.
local function queue_of(record)
  local at = core_at(record) - 1
  return sub(record, at + @core.queue.at, at + @core.queue.at - 1 + byte(record, at + @core.queue_length.at))
end

-- With how many workers in a row the task of a lease was lost, and how many seconds it had run the last time: one byte.
-- Two losses make a suspect.
local function suspicion_in(lease)
  local code = byte(lease, @lease.suspicion.at) - @suspicion.none.byte
  return code % @suspicion.step, @suspicion.longest_run - math.floor(code / @suspicion.step)
end

-- A number of two bytes between two positions, and as it is written.
local function number_in(record, first, last)
  local high, low = byte(record, first, last)
  return high * 256 + low
end

local function two_bytes(number)
  return pack('>I2', min(number, 65535))
end

-- The name at the end of a lease, or of an ending.
local function worker_of(lease)
  return sub(lease, #lease - byte(lease, @lease.worker_length.at) + 1)
end
