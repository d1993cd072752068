-- A queue's list of finished tasks: revision, mark and id of each, in the order of their revisions.
--
-- A task that is deleted or sent again before its entry is trimmed leaves this entry as a ghost: its id has no record,
-- or one of another revision. The counter `ghosts` of the queue counts them; trimming drops them.

-- The first place in a queue's list of finished tasks at or after a revision.
local function place_of_revision(list, revision)
  local low, high = 0, call('LLEN', list)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sub(call('LINDEX', list, middle), @finished.revision) < revision then
      low = middle + 1
    else
      high = middle
    end
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
