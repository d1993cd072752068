#!lua flags=no-writes
-- Queues in numbers.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- queues.
-- Returns for each {0 if it is unknown else 1, waiting, scheduled, submitted, started, when the longest ready became so
-- or nothing, counters, the bytes that wait in it or nothing, how many submitted tasks are suspects}: counters are pairs of accepted, removed or a finished
-- status' digit, and its count.

-- include base running counter lane

-- The first task between two scores, including tasks that are set aside.
local function first_between(name, least, below, aside)
  local found = call('ZRANGEBYSCORE', of(name, 'r'), least, below, 'WITHSCORES', 'LIMIT', 0, 1)
  local other = aside > 0 and call('ZRANGEBYSCORE', of(name, 'p'), least, below, 'WITHSCORES', 'LIMIT', 0, 1) or {}
  if other[1] and (not found[1] or tonumber(other[2]) < tonumber(found[2])) then
    return other[1]
  end
  return found[1]
end

-- The first of each priority has been ready longest in it.
local function oldest_ready(name, aside)
  local oldest
  -- Most often all of them are in the lane.
  local is_in_lane = aside == 0 and call('EXISTS', of(name, 'r')) == 0
  for rank = -4, is_in_lane and -5 or 5 do
    local least, below = format('%.0f', rank * 1e15), '(' .. format('%.0f', (rank + 1) * 1e15)
    local id = first_between(name, least, below, aside)
    local record = id and call('HGET', T, id)
    if record then
      local is_fresh = byte(record) == @state.fresh.byte
      local ready_at = unpack_at('>I7', record, is_fresh and @fresh.submitted_at.at or @lease.ready_at.at)
      oldest = min(oldest or ready_at, ready_at)
    end
  end
  local entries, stopped_at = read_in_lane(name, 0, 1)
  local record = entries[1] and call('HGET', T, sub(entries[1], @entry.rest.at))
  if stopped_at then
    -- Behind many ghosts: roughly when the last of these came.
    oldest = min(oldest or math.huge, FIRST_NUMBER_AT + stopped_at)
  elseif record then
    oldest = min(oldest or math.huge, (unpack_at('>I7', record, @fresh.submitted_at.at)))
  end
  return oldest and format('%.0f', oldest) or ''
end

local answers = {}
for i = 2, #ARGV do
  local name = ARGV[i]
  local aside = call('ZCARD', of(name, 'p'))
  local submitted = count_lane(name) + call('ZCARD', of(name, 'r')) + aside
  answers[i - 1] = {
    call('ZSCORE', P .. 'queues', name) and 1 or 0, call('ZCARD', of(name, 'd')), call('ZCARD', of(name, 's')), submitted,
    -- Without the sentinel, which is at infinity.
    count_running(name), submitted > 0 and oldest_ready(name, aside) or '',
    call('HGETALL', of(name, 'n')),
    call('HGET', P .. 'sized', name) or '',
    aside > 0 and call('ZLEXCOUNT', of(name, 'y'), '[' .. @gate.suspect .. '\0', '(' .. @gate.suspect .. '\1') or 0,
  }
end
return answers
