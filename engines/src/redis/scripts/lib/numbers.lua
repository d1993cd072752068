-- Revisions, fences and positions: numbers of one counter, as digits.
--
-- Making a string of a number costs as much as a command, so the last digits of a task's number are looked up.

local ONE = { '0', '1', '2', '3', '4', '5', '6', '7', '8', '9' }
local TWO = {
  '00', '01', '02', '03', '04', '05', '06', '07', '08', '09', '10', '11', '12', '13', '14', '15', '16', '17', '18',
  '19', '20', '21', '22', '23', '24', '25', '26', '27', '28', '29', '30', '31', '32', '33', '34', '35', '36', '37',
  '38', '39', '40', '41', '42', '43', '44', '45', '46', '47', '48', '49', '50', '51', '52', '53', '54', '55', '56',
  '57', '58', '59', '60', '61', '62', '63', '64', '65', '66', '67', '68', '69', '70', '71', '72', '73', '74', '75',
  '76', '77', '78', '79', '80', '81', '82', '83', '84', '85', '86', '87', '88', '89', '90', '91', '92', '93', '94',
  '95', '96', '97', '98', '99',
}

-- The three digits of a number below 1,000.
local function three(number)
  local rest = number % 100
  return ONE[(number - rest) / 100 + 1] .. TWO[rest + 1]
end

-- Numbers count microseconds from here, in September 2020, so that they stay below 10^15, and so exact in a score, until
-- the year 2052.
local FIRST_NUMBER_AT = 1600000000000000

-- Takes `count` numbers, at most 1,000, of the store's one counter, each greater than any before. Answers the first one's
-- leading 12 digits, its last three as a number, and the leading digits of those behind the next thousand. The counter
-- never falls behind the clock, and as nobody takes a million numbers a second, it is never ahead of it for long: so
-- numbers grow on even after the server lost the last of its writes, by a crash or a failover.
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

-- None: less than any that is taken.
local NO_NUMBER = '000000000000000'

-- The digits of the number `index` after the first of those taken.
local function number_at(high, low, next_high, index)
  local place = low + index
  if place < 1000 then
    return high .. three(place)
  end
  return next_high .. three(place - 1000)
end

-- The score of a ready task: by priority, then by position.
local function score_of(priority, position)
  if priority == '5' then
    return position
  end
  return (5 - priority) * 1e15 + tonumber(position)
end

-- Runs a command whose list of arguments may be long; unpack dies at about 8,000. Pairs stay together.
local function spread(command, key, list)
  local count = #list
  for first = 1, count, 1000 do
    call(command, key, unpack(list, first, min(first + 999, count)))
  end
end
