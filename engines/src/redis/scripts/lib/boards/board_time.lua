-- Exact times of boards: nanoseconds, too many for a number of Lua. They are 20 digits of the nanoseconds plus 2^63, and
-- sums are made of two halves of ten digits. Spans are written alike.

local HALF, ZERO_HIGH, ZERO_LOW = 1e10, 922337203, 6854775808

-- The present has microseconds: 10^7 of them are the first half.
local PRESENT_HIGH = math.floor(now / 1e7)
local PRESENT_LOW = (now - PRESENT_HIGH * 1e7) * 1000 + ZERO_LOW
local PRESENT_CARRY = math.floor(PRESENT_LOW / HALF)
local PRESENT = format('%010d%010d', PRESENT_HIGH + ZERO_HIGH + PRESENT_CARRY, PRESENT_LOW - PRESENT_CARRY * HALF)

-- A time and a span, at the ends of time if they are beyond.
local function time_after(time, span)
  local high = sub(time, @board_time.high) + sub(span, @board_time.high) - ZERO_HIGH
  local low = sub(time, @board_time.low) + sub(span, @board_time.low) - ZERO_LOW
  if low < 0 then
    high, low = high - 1, low + HALF
  elseif low >= HALF then
    high, low = high + 1, low - HALF
  end
  if high < 0 then
    high, low = 0, 0
  elseif high > 1844674407 or high == 1844674407 and low > 3709551615 then
    high, low = 1844674407, 3709551615
  end
  return format('%010d%010d', high, low)
end

-- Whether another owner holds a task.
local function is_held(record, owner)
  return sub(record, @board_task.at) > PRESENT and sub(record, @board_task.owner) ~= owner
end
