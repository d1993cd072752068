-- Leasing ready tasks to a worker.

-- How many entries of lanes with ghosts this step may still compare with their records.
local may_compare = 2000

-- Takes the ids of the first ready tasks, at most `limit`; and their entries, if all of them were in the lane. Behind gates,
-- only those of the sorted set have been checked. `in_one_key`: whether one key holds them all, without ghosts.
local function take_ready(name, limit, is_gated, in_one_key)
  if is_gated then
    local ids, popped = {}, call('ZPOPMIN', of(name, 'r'), limit)
    for i = 1, #popped, 2 do
      ids[#ids + 1] = popped[i]
    end
    return ids
  end
  local entries, ids = in_one_key and call('LPOP', of(name, 'q'), format('%d', limit)) or nil, {}
  if not entries and call('EXISTS', of(name, 'r'), of(name, 'x')) > 0 then
    -- include lane merge
    return take_merged(name, limit)
  end
  entries = entries or call('LPOP', of(name, 'q'), format('%d', limit)) or {}
  for i = 1, #entries do
    ids[i] = sub(entries[i], @entry.rest.at)
  end
  return ids, entries
end

-- Whether tasks of the lane can be leased in batches: none may expire, and their ids have one length. And whether one
-- has large parameters.
local function are_plain(ids, found)
  local length, has_large = #ids[1], false
  for i = 1, #ids do
    local record = found[i]
    if not record or byte(record) ~= @state.fresh.byte or #ids[i] ~= length
      or byte(record, @fresh.expires.at) == @flag.yes.byte then
      return false, false
    end
    has_large = has_large or byte(record, @fresh.size.at) == @size.large.byte
  end
  return true, has_large
end

-- Leases tasks, each by a record of its own. Removes those from `ids` and `found` that it does not lease: it adds them to
-- `expired` or `lost`. Returns whether one of the others has large parameters.
local function lease_each(name, ids, found, high, low, next_high, worker, deadline, lost)
  local leases, first_attempt, has_large, count = {}, STAMP .. @attempts.one .. string.char(#worker), false, 0
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
  spread('HSET', T, leases)
  -- Reuses the table, because a new one would cost as much as a command.
  for i = 1, count do
    leases[2 * i - 1], leases[2 * i] = deadline, ids[i]
  end
  spread('ZADD', of(name, 'l'), leases)
  return has_large
end

-- Leases up to `limit` tasks of a queue, or those whose ids are given. Returns {queue, the first one's fence, ids,
-- records as they were, apart, lost, 1 if they were leased in batches else 0}, or nil for none. The fences of the others follow, in the order of their ids. Lost
-- are ids without a record, or whose record is not that of a ready task. Adds those that have expired to `expired`.
-- `in_one_key`: see `take_ready`.
local function claim(name, limit, worker, deadline, is_gated, given, in_one_key)
  local ids, entries, lost = given, nil, {}
  if not given then
    ids, entries = take_ready(name, limit, is_gated, in_one_key)
  end
  if not ids[1] then
    return nil
  end
  if sized then
    note_out(name, ids)
  end
  local found = call('HMGET', T, unpack(ids))
  local high, low, next_high = take_numbers(#ids)
  local is_plain, has_large = false, nil
  if entries and #ids >= @batch.least then
    is_plain, has_large = are_plain(ids, found)
  end
  if is_plain then
    -- include lease_batches
  else
    has_large = lease_each(name, ids, found, high, low, next_high, worker, deadline, lost)
  end
  if not ids[1] then
    return { name, NO_NUMBER, ids, found, {}, lost, 0 }
  end
  call('SADD', P .. 'leased:' .. worker, name)
  call('ZADD', P .. 'expiring', 'LT', deadline, name)
  local middle = found[math.ceil(#ids / 2)]
  local ready_at = byte(middle) == @state.fresh.byte and @fresh.submitted_at.at or @lease.ready_at.at
  -- One task represents all: to look at each would cost more than the rest of the history.
  local time, queue_key, counter, growth = now - unpack_at('>I7', middle, ready_at), of(name, ''), @history.started, format('%d', #ids)
  local bucket, tasks = @history.waited, growth
  -- include history
  local apart = {}
  if has_large or call('EXISTS', X) == 1 then
    -- include apart
  end
  return { name, number_at(high, low, next_high, 0), ids, found, apart, lost, is_plain and 1 or 0 }
end
