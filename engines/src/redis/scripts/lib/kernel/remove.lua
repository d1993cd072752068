-- Deletes tasks with all their side records.

-- Deletes the values stored by id, of at most 1,000 tasks of one queue. Most side hashes are empty most of the time.
local function erase(name, ids)
  release_keys(ids)
  for _, hash in ipairs({ B, H, X, P .. 'u' }) do
    if call('EXISTS', hash) == 1 then
      call('HDEL', hash, unpack(ids))
    end
  end
  if call('EXISTS', P .. 'g') == 1 then
    -- include parents
    forget_parents(ids)
    call('HDEL', P .. 'g', unpack(ids))
  end
  call('HDEL', T, unpack(ids))
  call('HINCRBY', of(name, 'n'), 'removed', #ids)
end

-- How many of some records have each state, by its byte.
local function count_states(records)
  local counts = {}
  for _, record in ipairs(records) do
    local state = byte(record)
    counts[state] = (counts[state] or 0) + 1
  end
  return counts
end

-- Deletes finished tasks of one queue, at most 1,000; `counts` says how many have each state. Every deletion of a finished
-- task passes here; its entry has left the queue's list, or has been counted as a ghost.
local function erase_finished(name, ids, counts)
  for state, count in pairs(counts) do
    call('HINCRBY', of(name, 'n'), string.char(state), -count)
  end
  if call('EXISTS', P .. 'g:held') == 1 then
    -- include parents
    keep_results(ids)
  end
  erase(name, ids)
end

-- Deletes tasks of one queue that wait, at most 1,000. `note` is called with them and their records.
local function remove_waiting(name, ids, note)
  local found = call('HMGET', T, unpack(ids))
  if note then
    note(ids, found)
  end
  leave(name, ids, found)
  if sized then
    note_out(name, ids)
  end
  erase(name, ids)
  thin_lanes()
end

-- Deletes finished tasks of one queue, at most 1,000, and leaves their entries in its list as ghosts.
local function remove_finished(name, ids)
  local found, ended = {}, {}
  for i, record in ipairs(call('HMGET', T, unpack(ids))) do
    if record then
      found[#found + 1], ended[#ended + 1] = ids[i], record
    end
  end
  if #found > 0 then
    call('HINCRBY', of(name, 'n'), 'ghosts', #found)
    erase_finished(name, found, count_states(ended))
  end
end

-- Deletes tasks of one queue that are not running, at most 1,000; `over` says that all of them are finished, else none is.
local function remove(name, ids, over, note)
  if #ids == 0 then
    return
  elseif over then
    remove_finished(name, ids)
  else
    remove_waiting(name, ids, note)
  end
end
