-- The turn of a minute, and of an hour. Included.

-- Carries out a command that counted with all its growths negative. Leaves the command as it was.
local function take_back(command)
  local reversed = {}
  for i, word in ipairs(command) do
    reversed[i] = type(word) == 'number' and -word or word
  end
  call(unpack(reversed))
end

-- Adds up the minutes of an hour, and keeps its record in the list of hours. All its minutes are still there: each call
-- that counts closes the hour before.
local function close_hour(queue, key, hour)
  local words, record = call('GETRANGE', key, 0, -1), { hour }
  for counter = 1, @history.slot_words - 1 do
    record[counter + 1] = 0
  end
  for place = 0, @history.slots - 1 do
    local at = (@history.first_slot + place * @history.slot_words) * 4 + 1
    if at + @history.slot_words * 4 - 1 <= #words and math.floor(unpack_at('>I4', words, at) / 60) == hour then
      for counter = 1, @history.slot_words - 1 do
        record[counter + 1] = record[counter + 1] + unpack_at('>I4', words, at + counter * 4)
      end
    end
  end
  for word = 1, @history.first_slot - 1 do
    record[#record + 1] = (unpack_at('>I4', words, word * 4 + 1))
  end
  call('RPUSH', queue .. 'o', cmsgpack.pack(record))
  call('LTRIM', queue .. 'o', -@history.hours, -1)
end

-- Begins the slot of a minute with counts of 0; and the hour, if another one is open.
local function begin_slot(queue, key, known_hour, hour, minute, slot)
  if known_hour ~= hour then
    if known_hour > 0 then
      close_hour(queue, key, known_hour)
    end
    call('SETRANGE', key, 0, pack('>I4', hour) .. string.rep('\0', (@history.first_slot - 1) * 4))
  end
  call('SETRANGE', key, slot * 4, pack('>I4', minute) .. string.rep('\0', (@history.slot_words - 1) * 4))
end
