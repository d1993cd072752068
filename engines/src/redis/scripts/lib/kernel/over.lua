-- A queue's list of finished tasks: revision, mark and id of each, in the order of their revisions.
--
-- A task that is deleted or sent again before its entry is trimmed leaves this entry as a ghost: its id has no record,
-- or one of another revision. The counter `ghosts` of the queue counts them; trimming drops them.

-- The first place in a list of revisions at or after one, such as a queue's list of finished tasks.
--
-- A list is walked to each entry that is read, from its nearer end: among a million entries that takes longer than all else
-- here. Revisions grow evenly over time, so the place is guessed from those around it; within a batch they follow each other
-- without a gap, so the next guess is as many places further as the revision is. What narrows little is halved.
local function place_of_revision(list, revision)
  -- So few entries are read at once.
  local FEW = 16
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
  local low, high = 1, length - 1
  local function read(place)
    local found = at(place)
    if found < wanted then
      low, before = place + 1, found
    else
      high, after = place, found
    end
    return found
  end
  while high - low > FEW do
    local width = high - low
    local guess = low - 1 + math.floor((wanted - before) / (after - before) * (width + 1))
    guess = min(math.max(guess, low), high - 1)
    local found = read(guess)
    local in_batch = guess + wanted - found
    local is_inside = low <= in_batch and in_batch < high
    if is_inside then
      read(in_batch)
    end
    if high - low > FEW and (high - low) * 8 > width then
      read(math.floor((low + high) / 2))
    elseif high - low > FEW and not is_inside then
      local step = math.max(4, math.floor(math.sqrt(high - low)))
      read(found < wanted and min(guess + step, high - 1) or math.max(guess - step, low))
    end
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
