-- Revisions, fences and positions: numbers of one counter, as digits.
--
-- Making a string of a number costs as much as a command, so the digits of a task's number in its batch are looked up.

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

-- A number of the store's one counter, as 12 digits; three more digits make the revision, fence or position of one of a
-- thousand tasks. It never falls behind the clock (in 10 ms), so that fences still grow after an older snapshot of the
-- store was restored; and stays below 10^12 until the year 2286, so that positions are exact in a score.
local function next_batch()
  local key = P .. 'c'
  local least = math.floor(now / 10000)
  if call('INCR', key) < least then
    call('SET', key, format('%.0f', least))
  end
  return sub('00000000000' .. call('GET', key), -12)
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
