-- Deletes the oldest finished tasks of a queue.

-- Entries read together: at first, as records may be large, and later at most. Bytes of records that are as much work
-- as one entry. The work of checking a queue, and of a tombstone: of adding one and sweeping another.
local FIRST_PIECE, TRIM_PIECE, BYTES_AN_ENTRY, WORK_A_QUEUE, WORK_A_TOMBSTONE = 8, 250, 1000, 2, 2

-- How many entries to read next, after `seen` with this number of bytes of records.
local function piece_of(work, limit, seen, bytes)
  if seen == 0 then
    return min(FIRST_PIECE, limit)
  end
  return math.max(1, min(TRIM_PIECE, limit, math.floor(work / (1 + bytes / seen / BYTES_AN_ENTRY))))
end

-- The number that the counter had reached at a time, given as a stamp: it keeps up with the clock, so a task whose end has
-- this revision or an earlier one ended by then.
local function number_of(stamp)
  return format('%015.0f', math.max(0, unpack_at('>I7', stamp) - FIRST_NUMBER_AT))
end

-- Deletes at most `limit` of the oldest finished tasks of a queue by their entries alone: up to the first whose record is
-- needed, or which is neither one of the `surplus` nor of a revision up to `old`. Only for a list without ghosts.
-- Answers how many were deleted.
local function trim_unread(name, limit, surplus, old)
  local list, removed, asked = of(name, 'f'), 0, surplus > 0 and TRIM_PIECE or FIRST_PIECE
  while removed < limit do
    local ids, counts = {}, {}
    asked = min(asked, limit - removed)
    for i, entry in ipairs(call('LRANGE', list, 0, asked - 1)) do
      local mark = byte(entry, @finished.mark.at)
      if mark == @mark.needs_record.byte or removed + i > surplus and sub(entry, @finished.revision) > old then
        break
      end
      ids[i], counts[mark] = sub(entry, @finished.rest.at), (counts[mark] or 0) + 1
    end
    if ids[1] then
      call('LTRIM', list, #ids, -1)
      erase_finished(name, ids, counts)
    end
    removed = removed + #ids
    if #ids < asked then
      break
    end
    asked = TRIM_PIECE
  end
  return removed
end

-- Trims a queue's list: entries from the place `first` on that are more than `kept` tasks old, or ended at or before the
-- stamp `before`, and ghosts between them; up to `limit` tasks, and until `work` is used up. Tasks with chosen ids are
-- remembered for `age` after their ends. With `is_dry` it only counts.
-- Returns how many tasks were deleted, how many entries it passed, whether nothing is left to trim, the work that is
-- left, and then when the oldest task that stays ended.
local function trim(name, kept, before, limit, work, is_dry, first, passed, age)
  local list, length = of(name, 'f'), call('LLEN', of(name, 'f'))
  local ghosts = count_finished_ghosts(name)
  local surplus = length - ghosts - kept - passed
  local removed, passed_entries, bytes, oldest = 0, 0, 0, nil
  work = work - WORK_A_QUEUE
  if ghosts == 0 and not is_dry then
    removed = trim_unread(name, min(limit, math.max(0, math.ceil(work))), surplus, number_of(before))
    surplus, work = surplus - removed, work - removed
  end
  while removed < limit and work > 0 do
    -- Most often nothing needs deleting, and the oldest task shows it.
    local count = surplus <= 0 and passed_entries == 0 and 1
      or piece_of(work, limit - removed, passed_entries, bytes)
    local entries = call('LRANGE', list, first, first + count - 1)
    if #entries == 0 then
      return removed, passed_entries, true, work
    end
    local ids, gone, ended, passing = {}, {}, {}, 0
    for i = 1, #entries do
      ids[i] = sub(entries[i], @finished.rest.at)
    end
    local stored, is_done, bytes_before = call('HMGET', T, unpack(ids)), false, bytes
    for i = 1, #entries do
      local record = stored[i]
      bytes = bytes + (record and #record or 0)
      if is_listed(record, entries[i]) then
        if surplus <= 0 and sub(record, @ending.completed_at) > before then
          is_done, oldest = true, unpack_at('>I7', record, @ending.completed_at.at)
          break
        end
        surplus = surplus - 1
        gone[#gone + 1], ended[#ended + 1] = ids[i], record
      end
      passing = i
    end
    if passing > 0 and not is_dry then
      call('LTRIM', list, passing, -1)
      if passing > #gone then
        call('HINCRBY', of(name, 'n'), 'ghosts', #gone - passing)
      end
      if #gone > 0 then
        work = work - WORK_A_TOMBSTONE * bury(name, gone, ended, age)
        erase_finished(name, gone, count_states(ended))
      end
    end
    removed, passed_entries = removed + #gone, passed_entries + passing
    work = work - #entries - (bytes - bytes_before) / BYTES_AN_ENTRY
    if is_done then
      return removed, passed_entries, true, work, oldest
    end
    first = is_dry and first + passing or first
  end
  return removed, passed_entries, false, work
end
