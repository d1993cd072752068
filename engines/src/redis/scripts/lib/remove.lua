-- Deleting tasks with every trace they left.

-- Takes entries, revision..id, out of a queue's list of finished tasks: marks each at its place, then sweeps once.
local function forget_finished(name, entries)
  local list, places = of(name, 'f'), {}
  for _, entry in ipairs(entries) do
    local place = place_of_revision(list, sub(entry, @entry.revision))
    if call('LINDEX', list, place) == entry then
      places[#places + 1] = place
    end
  end
  for _, place in ipairs(places) do
    call('LSET', list, place, '')
  end
  if #places > 0 then
    call('LREM', list, 0, '')
  end
end

-- Deletes tasks of one queue that are not running, at most 1,000; `over` says that all of them are finished, else none is.
local function remove(name, ids, over)
  if #ids == 0 then
    return
  end
  local counters, stored = of(name, 'n'), call('HMGET', T, unpack(ids))
  if over then
    local entries, counts = {}, {}
    for i, record in ipairs(stored) do
      local status = record and status_of(record)
      if record then
        entries[#entries + 1] = sub(record, @record.revision) .. ids[i]
        counts[status] = (counts[status] or 0) - 1
      end
    end
    forget_finished(name, entries)
    for status, count in pairs(counts) do
      call('HINCRBY', counters, status, count)
    end
  else
    for i, record in ipairs(stored) do
      if record then
        leave(name, ids[i], record)
      else
        leave_places(name, ids[i])
      end
    end
    if sized then
      note_out(name, ids)
    end
  end
  release_keys(ids)
  for _, hash in ipairs({ T, B, H, X, P .. 'u' }) do
    spread('HDEL', hash, ids)
  end
  call('HINCRBY', counters, 'removed', #ids)
end
