-- The turn of a minute, and of an hour: takes back what was added to a slot that is still to begin, begins it, and adds again.

-- Adds to a counter, and to a bucket if one is given.
local function add(at, sign)
  call('BITFIELD', key, 'INCRBY', 'u32', format('#%d', at), format('%d', sign * growth))
  if bucket then
    call('BITFIELD', key, 'INCRBY', 'u32', bucket, format('%d', sign * tasks))
  end
end

-- Adds up the minutes of an hour, and keeps its record in the list of hours. All its minutes are still there: each call
-- that counts closes the hour before.
local function close_hour(hour)
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
  call('RPUSH', queue_key .. 'o', cmsgpack.pack(record))
  call('LTRIM', queue_key .. 'o', -@history.hours, -1)
end

local open_hour, begun = known[1], known[2]
add(slot + counter, -1)
if open_hour > hour and open_hour - hour <= 24 then
  -- The clock was set back: the open hour stays open until the clock reaches it again.
  hour, minute = open_hour, open_hour * 60
  slot = @history.first_slot + minute % @history.slots * @history.slot_words
  begun = call('BITFIELD', key, 'GET', 'u32', '#' .. slot)[1]
end
if open_hour ~= hour then
  if open_hour > 0 then
    close_hour(open_hour)
  end
  call('SETRANGE', key, 0, pack('>I4', hour) .. string.rep('\0', (@history.first_slot - 1) * 4))
end
if begun ~= minute then
  call('SETRANGE', key, slot * 4, pack('>I4', minute) .. string.rep('\0', (@history.slot_words - 1) * 4))
end
add(slot + counter, 1)
