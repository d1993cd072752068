-- How much the limits of queues allow now. Included only if a queue has limits.
--
-- The hash `limits` holds, by queue: max_concurrent; tasks, period in microseconds and burst of its rate; max_length;
-- and the same three of the rate at which it accepts tasks, which older entries lack. Each in digits, 0 for none. The
-- arithmetic of rates is that of common's `rate.rs`, in whole numbers that a double holds.

-- include running

local floor, huge = math.floor, math.huge

local function read_limits(word)
  local slots, tasks, period, burst, length, intake =
    string.match(word or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)(.*)')
  if not slots then
    return nil
  end
  return { slots = tonumber(slots), tasks = tonumber(tasks), period = tonumber(period), burst = tonumber(burst),
    length = tonumber(length), intake = intake }
end

-- For whole numbers; the quotient of doubles could be rounded up.
local function divide(dividend, divisor)
  return (dividend - dividend % divisor) / divisor
end

-- Reads the state of a rate, from its mark or false; returns how many tasks it lets pass now.
local function take_stand(rate, marked)
  local mark, most = tonumber(marked or 0), rate.burst * rate.period
  -- A mark further ahead than a burst reaches was set under a slower rate, or before the clock went back.
  rate.mark = mark > now and mark - now <= divide(most, rate.tasks) and mark or now
  rate.debt = (rate.mark - now) * rate.tasks
  return divide(most - rate.debt, rate.period)
end

-- How much may be claimed from a queue now, or nil without limits: `free` slots, `left` tasks that may start now, and
-- the state of its rate.
local function room_in(name)
  local limits = read_limits(call('HGET', P .. 'limits', name))
  if not limits then
    return nil
  end
  limits.free = huge
  if limits.slots > 0 then
    limits.free = math.max(limits.slots - count_running(name), 0)
  end
  limits.left = limits.free
  if limits.tasks > 0 then
    limits.left = min(limits.free, take_stand(limits, call('GET', of(name, 'g'))))
  end
  return limits
end

-- Counts tasks that start now.
local function note_started(name, room, started)
  if room.mark and started > 0 then
    call('SET', of(name, 'g'), format('%.0f', room.mark + divide(started * room.period, room.tasks)))
  end
end

-- In how long half a burst may start, or `wanted` if that is less.
local function rate_wait(room, wanted)
  local batch = math.max(min(floor(room.burst / 2), wanted), 1)
  local lacking = room.debt + (batch - room.burst) * room.period
  return math.max(divide(lacking + room.tasks - 1, room.tasks), 0)
end
