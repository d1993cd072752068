-- A queue's list of finished tasks: revision, mark and id of each, in the order of their revisions.
--
-- A task that is deleted or sent again before its entry is trimmed leaves this entry as a ghost: its id has no record,
-- or one of another revision. The counter `ghosts` of the queue counts them; trimming drops them.

-- The first place in a list of revisions at or after one, such as a queue's list of finished tasks.
--
-- A list is walked to each entry that is read, from its nearer end: among a million entries that takes longer than all else
-- here. Revisions grow evenly most of the time, so the place is guessed from those around it, and then one is read a little
-- beyond the guess, on the other side of what is looked for.
local function place_of_revision(list, revision)
  -- So many guesses, then the rest is halved; and so few entries are read at once.
  local GUESSES, FEW = 8, 16
  local wanted, length = tonumber(revision), call('LLEN', list)
  local function at(place)
    return tonumber(sub(call('LINDEX', list, place), @finished.revision)) or 0
  end
  if length == 0 then
    return 0
  end
  local before, after = at(0), at(length - 1)
  if before >= wanted then
    return 0
  elseif after < wanted then
    return length
  end
  -- The entry before `low` is less, with the revision `before`; the one at `high` is not, with `after`.
  local low, high, guesses, step = 1, length - 1, 0, 4
  local function read(place)
    local found = at(place)
    if found < wanted then
      low, before = place + 1, found
    else
      high, after = place, found
    end
    return found < wanted
  end
  while high - low > FEW do
    local middle = math.floor((low + high) / 2)
    if guesses < GUESSES and after > before then
      guesses = guesses + 1
      local guess = low - 1 + math.floor((wanted - before) / (after - before) * (high - low + 1))
      middle = min(math.max(guess, low), high - 1)
    end
    local is_less = read(middle)
    if guesses < GUESSES and high - low > FEW then
      read(is_less and min(middle + step, high - 1) or math.max(middle - step, low))
    end
    step = math.max(4, math.floor(math.sqrt(high - low)))
  end
  for _, entry in ipairs(low < high and call('LRANGE', list, low, high - 1) or {}) do
    if (tonumber(sub(entry, @finished.revision)) or 0) >= wanted then
      break
    end
    low = low + 1
  end
  return low
end

-- The place of a task's entry in a queue's list of finished tasks, or nothing. Tasks of two stores may have one revision.
local function place_of_entry(list, revision, id)
  local place = place_of_revision(list, revision)
  local entry = call('LINDEX', list, place)
  while entry and sub(entry, @finished.revision) == revision do
    if sub(entry, @finished.rest.at) == id then
      return place, entry
    end
    place = place + 1
    entry = call('LINDEX', list, place)
  end
  return nil
end

-- The mark of an entry for the record of a task that ended.
local function mark_of(record)
  local is_read = #record > @mark.most_bytes or byte(record, @ending.remember.at) == @flag.yes.byte
  return is_read and @mark.needs_record or sub(record, @record.state)
end

-- Whether a record, if it exists, is that of the finished task in an entry.
local function is_listed(record, entry)
  return record and string.find(entry, sub(record, @record.revision), 1, true) == 1
end

-- How many entries of a queue's list are ghosts.
local function count_finished_ghosts(name)
  return tonumber(call('HGET', of(name, 'n'), 'ghosts') or 0)
end
