-- Names, time, and how records are read; shared by all scripts.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. Every key begins with it, so all of them share its hash tag and
-- lie in one slot; their names are built here and nowhere else in Lua. `keys.rs` documents what each key holds,
-- `layout.rs` the strings in them: a name with an @ is a position or a letter of its table.
-- ARGV[1] is the present in microseconds, or empty for the server's own clock. A script's own arguments follow.
--
-- What is included creates its functions each time it is passed, at a tenth of a microsecond each: a script that is
-- called often includes the rest only in the branch that needs it.

local call, sub, byte, format, min = redis.call, string.sub, string.byte, string.format, math.min
local pack, unpack_at = struct.pack, struct.unpack
-- No time, as digits and as a stamp.
local P, NO_TIME, NO_STAMP = KEYS[1], '0000000000000000', '\0\0\0\0\0\0\0'
-- By id: records, bodies, errors, news.
local T, B, H, X = P .. 't', P .. 'b', P .. 'h', P .. 'x'

-- The key of a part of a queue: r ready, d waiting, s scheduled, l leases, f finished, w and b waiting workers, n
-- counters, g a rate's mark, i the mark of the rate of submissions, z what waiting tasks count in bytes.
local function of(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end

-- The present, as a number, as 16 digits, and as a stamp.
local now, NOW
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  NOW = time[1] .. sub('00000' .. time[2], -6)
else
  now = tonumber(ARGV[1])
  NOW = format('%016.0f', now)
end

local function stamp_of(time)
  return pack('>I7', time)
end

local STAMP = stamp_of(now)

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

-- What a record says that never changes, and what follows it.
local function core_of(record)
  if byte(record) == @state.fresh.byte then
    return sub(record, @fresh.core.at)
  elseif is_over(record) then
    return sub(record, @ending.core.at)
  end
  return sub(record, @lease.core.at)
end

local function queue_in(core)
  return sub(core, @core.queue.at, @core.queue.at - 1 + byte(core, @core.queue_length.at))
end

-- The queue a record names.
local function queue_of(record)
  return queue_in(core_of(record))
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
