-- Counts what happens in a queue: by minute, and how long tasks waited and ran in the open hour (see `keys.rs`, `m`).

-- Adds to the slot of this minute, or of another one that is given. `counts`: pairs of a word of a slot and how much it
-- grows; `time`: the word of a bucket of the open hour or nil, and how many tasks it counts. `queue` begins the queue's keys.
-- The counts of a slot that is still to begin are taken back, and added once it has begun.
local function note_history(queue, counts, time, tasks, minute)
  minute = minute or math.floor(now / 60000000)
  local key, hour = queue .. 'm', math.floor(minute / 60)
  local slot = @history.first_slot + minute % @history.slots * @history.slot_words
  local command, last = { 'BITFIELD', key, 'GET', 'u32', '#0', 'GET', 'u32', '#' .. slot,
    'INCRBY', 'u32', '#' .. (time or slot + counts[1]), time and tasks or counts[2] }, 12
  for i = time and 1 or 3, #counts, 2 do
    command[last + 1], command[last + 2] = 'INCRBY', 'u32'
    command[last + 3], command[last + 4] = '#' .. slot + counts[i], counts[i + 1]
    last = last + 4
  end
  local known_hour, known_minute = unpack(call(unpack(command)))
  if known_hour ~= hour or known_minute ~= minute then
    -- include history_turn
    take_back(command)
    if known_hour > hour and known_hour - hour <= 24 then
      -- The clock was set back: the open hour stays open until the clock reaches it again.
      note_history(queue, counts, time, tasks, known_hour * 60)
    else
      begin_slot(queue, key, known_hour, hour, minute, slot)
      call(unpack(command))
    end
  end
end
