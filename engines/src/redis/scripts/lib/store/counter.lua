-- Revisions, fences and positions: numbers of one counter, as digits.
--
-- Making a string of a number costs as much as a command, so the last digits of a task's number are cut from a text.

local THREE = @digits.three

-- The three digits of a number below 1,000.
local function three(number)
  return sub(THREE, 3 * number + 1, 3 * number + 3)
end

-- Numbers count microseconds from here.
local FIRST_NUMBER_AT = @counter.first_number_at

-- No number: less than any that is taken.
local NO_NUMBER = '000000000000000'

-- The digits of the number `index` after the first of those taken.
local function number_at(high, low, next_high, index)
  local place = low + index
  if place < 1000 then
    return high .. three(place)
  end
  return next_high .. three(place - 1000)
end

-- Takes `count` numbers, at most 1,000, of the store's one counter, each greater than any before. Returns what
-- `split_number` does. The counter is never behind the clock, and never ahead of it for long, because no store takes a
-- million numbers a second. So numbers keep growing even after the server lost its last writes, by a crash or a failover.
-- Most often the clock is ahead, so the counter is set to it first, and put right if it was not behind.
-- `split_number` is in a block: a script has room for 200 names.
local take_numbers
do
  -- The leading 12 digits of a number, its last three as a number, and, if any of the `count` numbers from it on has others,
  -- the leading digits of those after the next thousand.
  local function split_number(first, count)
    local low = first % 1000
    local high = (first - low) / 1000
    return format('%012.0f', high), low, low + count > 1000 and format('%012.0f', high + 1) or nil
  end

  function take_numbers(count)
    local key, first, last = P .. 'c', math.max(now - FIRST_NUMBER_AT, 1), math.max(count, 1) - 1
    local high, low, next_high = split_number(first, count)
    local before = tonumber(call('SET', key, number_at(high, low, next_high, last), 'GET') or 0)
    if before >= first then
      high, low, next_high = split_number(before + 1, count)
      call('SET', key, number_at(high, low, next_high, last))
    end
    return high, low, next_high
  end
end
