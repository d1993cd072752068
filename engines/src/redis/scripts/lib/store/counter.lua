-- Revisions, fences and positions: numbers of one counter, as digits. They count microseconds from a moment.

-- include digits
local FIRST_NUMBER_AT = @counter.first_number_at

-- No number: less than any that is taken.
local NO_NUMBER = '000000000000000'

-- The digits of the number `index` after the first of those taken.
local function number_at(high, low, next_high, index)
  local place = low + index
  if place < 1000 then
    return high .. sub(THREE, 3 * place + 1, 3 * place + 3)
  end
  return next_high .. sub(THREE, 3 * place - 2999, 3 * place - 2997)
end

-- Takes `count` numbers (take.lua).
local function take_numbers(count)
  -- include take
  return high, low, next_high
end
