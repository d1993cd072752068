-- The bytes that wait in queues which limit them. Included only where some queue does; sets the functions that
-- were declared where it is included.
--
-- By queue: `sizes` its max_bytes, `sized` the bytes that wait in it, `sizing` where the walk stands over what it held when
-- it got its limit. What each waiting task counts stands in the queue's `z`, so that nothing is counted twice, or taken away
-- that was never counted, whatever path a task takes.

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

bytes_stored = function(id)
  local record = call('HGET', T, id)
  if not record then
    return 0
  end
  local core = core_of(record)
  if byte(core, @core.size.at) == @size.large.byte then
    return call('HSTRLEN', B, id)
  end
  return bytes_in(core, byte(record) == @state.fresh.byte and 0 or byte(record, @lease.worker_length.at))
end

-- Counts what stands in a part of the queue now: {score, id, …}.
note_in = function(name, entries)
  if #entries == 0 or not is_sized(name) then
    return
  end
  local added = 0
  for i = 2, #entries, 2 do
    local id = entries[i]
    if call('HEXISTS', of(name, 'z'), id) == 0 then
      local bytes = bytes_stored(id)
      call('HSET', of(name, 'z'), id, bytes)
      added = added + bytes
    end
  end
  if added > 0 then
    call('HINCRBY', P .. 'sized', name, added)
  end
end

-- Counts tasks no longer that have left the parts of the queue.
note_out = function(name, ids)
  if #ids == 0 or not is_sized(name) then
    return
  end
  local taken = 0
  for _, id in ipairs(ids) do
    taken = taken + (call('HGET', of(name, 'z'), id) or 0)
    call('HDEL', of(name, 'z'), id)
  end
  if taken > 0 then
    call('HINCRBY', P .. 'sized', name, -taken)
  end
end
