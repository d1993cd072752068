-- The waiting bytes of queues with `max_bytes`. Included only if a queue has it; sets the functions that were declared
-- where it is included.
--
-- By queue: `sizes` its max_bytes, `sized` the bytes that wait in it, `sizing` the progress of the walk over the tasks
-- it held when it got its limit. The bytes of each waiting task are stored in the queue's `z`, so no path of a task
-- counts them twice or subtracts bytes that were never counted.

local sized_queues = {}

is_sized = function(name)
  if sized_queues[name] == nil then
    sized_queues[name] = call('HEXISTS', P .. 'sizes', name) == 1
  end
  return sized_queues[name]
end

-- The bytes of the parameters in a core, which a worker's name may follow.
bytes_in = function(core, worker_length)
  local high, low = byte(core, @core.open_length)
  return math.max(#core - (@core.queue.at - 1) - high * 256 - low - worker_length, 0)
end

local function bytes_of(id, record)
  local core = core_of(record)
  if byte(core, @core.size.at) == @size.large.byte then
    return call('HSTRLEN', B, id)
  end
  return bytes_in(core, byte(record) == @state.fresh.byte and 0 or byte(record, @lease.worker_length.at))
end

bytes_stored = function(id)
  local record = call('HGET', T, id)
  return record and bytes_of(id, record) or 0
end

-- Counts those of some tasks that are not counted yet.
local function note_some_in(name, ids)
  local new, noted, added = {}, {}, 0
  for i, counted in ipairs(call('HMGET', of(name, 'z'), unpack(ids))) do
    if not counted then
      new[#new + 1] = ids[i]
    end
  end
  for i, record in ipairs(new[1] and call('HMGET', T, unpack(new)) or {}) do
    local bytes = record and bytes_of(new[i], record) or 0
    noted[2 * i - 1], noted[2 * i] = new[i], bytes
    added = added + bytes
  end
  spread('HSET', of(name, 'z'), noted)
  if added > 0 then
    call('HINCRBY', P .. 'sized', name, added)
  end
end

-- Counts the entries of a part of the queue: {score, id, …}.
note_in = function(name, entries)
  if #entries == 0 or not is_sized(name) then
    return
  end
  for first = 2, #entries, 1000 do
    local ids = {}
    for i = first, min(first + 998, #entries), 2 do
      ids[#ids + 1] = entries[i]
    end
    note_some_in(name, ids)
  end
end

-- Stops counting tasks, at most 1,000, that have left the parts of the queue.
note_out = function(name, ids)
  if #ids == 0 or not is_sized(name) then
    return
  end
  local taken = 0
  for _, bytes in ipairs(call('HMGET', of(name, 'z'), unpack(ids))) do
    taken = taken + (bytes or 0)
  end
  call('HDEL', of(name, 'z'), unpack(ids))
  if taken > 0 then
    call('HINCRBY', P .. 'sized', name, -taken)
  end
end
