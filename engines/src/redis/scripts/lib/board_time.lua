-- Exact times of boards: nanoseconds, too many for a number of Lua. They are 20 digits of the nanoseconds plus 2^63, and
-- sums are made of two halves of ten digits. Spans are written alike.

local HALF, ZERO_HIGH, ZERO_LOW = 1e10, 922337203, 6854775808
local LAST_HIGH, LAST_LOW = 1844674407, 3709551615

-- The digits of two halves, each perhaps a carry too large or too small; at the ends of time if they are beyond.
local function time_of(high, low)
  local carry = math.floor(low / HALF)
  high, low = high + carry, low - carry * HALF
  if high < 0 then
    high, low = 0, 0
  elseif high > LAST_HIGH or high == LAST_HIGH and low > LAST_LOW then
    high, low = LAST_HIGH, LAST_LOW
  end
  return format('%010.0f%010.0f', high, low)
end

-- A time and a span.
local function time_after(time, span)
  return time_of(sub(time, @board_time.high) + sub(span, @board_time.high) - ZERO_HIGH,
    sub(time, @board_time.low) + sub(span, @board_time.low) - ZERO_LOW)
end

-- The present has microseconds: 10^7 of them are the first half.
local PRESENT_HIGH = math.floor(now / 1e7)
local PRESENT = time_of(PRESENT_HIGH + ZERO_HIGH, (now - PRESENT_HIGH * 1e7) * 1000 + ZERO_LOW)

-- Most spans of a call are the same.
local resolved = {}

-- The time that a caller means.
local function resolve(said)
  if byte(said) == @when_kind.at.byte then
    return sub(said, @when.rest.at)
  end
  local time = resolved[said] or time_after(PRESENT, sub(said, @when.rest.at))
  resolved[said] = time
  return time
end
