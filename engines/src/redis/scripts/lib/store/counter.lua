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

-- Takes `count` numbers, at most 1,000, of the store's one counter, each greater than any before. Returns the first
-- one's leading 12 digits, its last three as a number, and the leading digits of those after the next thousand. The
-- counter is never behind the clock, and never ahead of it for long, because no store takes a million numbers a second.
-- So numbers keep growing even after the server lost its last writes, by a crash or a failover.
local function take_numbers(count)
  local key, least = P .. 'c', now - FIRST_NUMBER_AT
  local first = call('INCRBY', key, count) - count + 1
  if first < least then
    first = least
    call('SET', key, format('%.0f', first + count - 1))
  end
  local low = first % 1000
  local high = (first - low) / 1000
  return format('%012.0f', high), low, low + count > 1000 and format('%012.0f', high + 1) or nil
end

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
