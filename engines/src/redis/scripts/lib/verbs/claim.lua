-- Leasing ready tasks to a worker.

-- How many entries of lanes with ghosts this step may still compare with their records.
local may_compare = 2000

-- Takes the ids of the first ready tasks, at most `limit`. Behind gates, only those of the sorted set have been
-- checked.
local function take_ready(name, limit, is_gated)
  if is_gated then
    local ids, popped = {}, call('ZPOPMIN', of(name, 'r'), limit)
    for i = 1, #popped, 2 do
      ids[#ids + 1] = popped[i]
    end
    return ids
  elseif call('EXISTS', of(name, 'r'), of(name, 'x')) > 0 then
    -- include lane merge
    return take_merged(name, limit)
  end
  local ids = call('LPOP', of(name, 'q'), limit) or {}
  for i = 1, #ids do
    ids[i] = sub(ids[i], @entry.rest.at)
  end
  return ids
end

-- Leases up to `limit` tasks of a queue, or those whose ids are given. Returns {queue, the first one's fence, ids,
-- records as they were, apart, lost}, or nil for none. The fences of the others follow, in the order of their ids. Lost
-- are ids without a record, or whose record is not that of a ready task. Adds those that have expired to `expired`.
local function claim(name, limit, worker, deadline, is_gated, given)
  local ids, leases, lost, count = given or take_ready(name, limit, is_gated), {}, {}, 0
  if not ids[1] then
    return nil
  end
  if sized then
    note_out(name, ids)
  end
  local found = call('HMGET', T, unpack(ids))
  local high, low, next_high = take_numbers(#ids)
  local first_attempt, has_large = STAMP .. @attempts.one .. string.char(#worker), false
  for i = 1, #ids do
    local id, record = ids[i], found[i]
    local state, lease = record and byte(record), nil
    local leading, place = high, low + count
    if place >= 1000 then
      leading, place = next_high, place - 1000
    end
    local fence = leading .. sub(THREE, 3 * place + 1, 3 * place + 3)
    local is_expired = false
    if state and byte(record, state == @state.fresh.byte and @fresh.expires.at or @lease.expires.at) == @flag.yes.byte then
      -- include expiry
      is_expired = (state == @state.fresh.byte or state == @state.submitted.byte) and has_expired(record)
    end
    if is_expired then
      expired[#expired + 1] = { name, id, record }
    elseif state == @state.fresh.byte then
      lease = @state.started .. fence .. sub(record, @fresh.revision.at, @fresh.submitted_at.last) .. first_attempt
        .. sub(record, @fresh.core.at) .. worker
    elseif state == @state.submitted.byte then
      -- include again
    else
      lost[#lost + 1] = id
    end
    if lease then
      count = count + 1
      ids[count], found[count], leases[2 * count - 1], leases[2 * count] = id, record, id, lease
      has_large = has_large or byte(lease, @lease.size.at) == @size.large.byte
    end
  end
  for i = #ids, count + 1, -1 do
    ids[i], found[i] = nil, nil
  end
  if count == 0 then
    return { name, NO_NUMBER, ids, found, {}, lost }
  end
  spread('HSET', T, leases)
  call('SADD', P .. 'leased:' .. worker, name)
  -- Reuses the table, because a new one would cost as much as a command.
  for i = 1, count do
    leases[2 * i - 1], leases[2 * i] = deadline, ids[i]
  end
  spread('ZADD', of(name, 'l'), leases)
  call('ZADD', P .. 'expiring', 'LT', deadline, name)
  local middle = found[math.ceil(count / 2)]
  local ready_at = byte(middle) == @state.fresh.byte and @fresh.submitted_at.at or @lease.ready_at.at
  -- include history history_bucket
  -- One task represents all: to look at each would cost more than the rest of the history.
  note_history(of(name, ''), { @history.started, count },
    @history.waited + bucket_since(unpack_at('>I7', middle, ready_at)), count)
  local apart = {}
  if has_large or call('EXISTS', X) == 1 then
    -- include apart
  end
  return { name, number_at(high, low, next_high, 0), ids, found, apart, lost }
end
