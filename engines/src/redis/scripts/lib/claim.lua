-- Leasing ready tasks to a worker.

-- Blanks in front of a score, by its length: they make it 17 characters.
local PADDING = { [15] = '  ', [16] = ' ', [17] = '' }

-- Drops the tasks whose record is gone. Answers the ready ones, {id, score, …}, their ids and records, and what is lost.
local function without_lost(ready, records)
  local kept, ids, kept_records, lost = {}, {}, {}, {}
  for i = 1, #ready / 2 do
    local id = ready[2 * i - 1]
    if records[i] then
      local place = #ids + 1
      kept[2 * place - 1], kept[2 * place], ids[place], kept_records[place] = id, ready[2 * i], id, records[i]
    else
      lost[#lost + 1] = id
    end
  end
  return kept, ids, kept_records, lost
end

-- What only some tasks have: {place in ids, carry, news, body}, each but the place perhaps an empty string.
local function what_lies_apart(ids, records, carried)
  local news, apart = call('HMGET', X, unpack(ids)), {}
  for i, id in ipairs(ids) do
    local large = byte(records[i], 33) == 76
    if carried[i] or news[i] or large then
      apart[#apart + 1] = { i, carried[i] or '', news[i] or '', large and call('HGET', B, id) or '' }
    end
  end
  return apart
end

-- Takes up to `limit` tasks of a queue. Answers {queue, the first one's fence, ids, records, apart, lost}, or nil for
-- none. The fences of the others follow, in the order of their ids.
local function claim(name, limit, worker, deadline)
  local ready = call('ZPOPMIN', of(name, 'r'), limit)
  if not ready[1] then
    return nil
  end
  local ids, lost, is_lost = {}, {}, false
  for i = 1, #ready / 2 do
    ids[i] = ready[2 * i - 1]
  end
  if sized then
    note_out(name, ids)
  end
  local records = call('HMGET', T, unpack(ids))
  for i = 1, #ids do
    is_lost = is_lost or not records[i]
  end
  if is_lost then
    ready, ids, records, lost = without_lost(ready, records)
  end
  if #ids == 0 then
    return { name, NO_NUMBER, ids, records, {}, lost }
  end
  local high, low, next_high = take_numbers(#ids)
  local carried = call('EXISTS', A) == 1 and call('HMGET', A, unpack(ids)) or {}
  local tail, gone, has_large = name .. ';' .. worker, {}, false
  -- Each score gives way to its lease, then to the id behind its deadline: new tables would cost as much as a command.
  for i = 1, #ids do
    local record, score = records[i], ready[2 * i]
    local ready_at, counts, carry = sub(record, 1, 16), '000001000', carried[i]
    if carry then
      ready_at, counts = sub(carry, 16, 31), format('%06d', sub(carry, 32, 37) + 1) .. sub(carry, 38, 40)
      gone[#gone + 1] = ids[i]
    end
    local leading, place = high, low + i - 1
    if place >= 1000 then
      leading, place = next_high, place - 1000
    end
    local rest = place % 100
    ready[2 * i] = 'L' .. leading .. ONE[(place - rest) / 100 + 1] .. TWO[rest + 1] .. NOW .. ready_at .. counts
      .. sub(record, 33, 38) .. (PADDING[#score] or format('%' .. 17 - #score .. 's', '')) .. score .. tail
    has_large = has_large or byte(record, 33) == 76
  end
  spread('HSET', M, ready)
  for i = 1, #ids do
    ready[2 * i - 1], ready[2 * i] = deadline, ids[i]
  end
  spread('ZADD', of(name, 'l'), ready)
  local apart = {}
  if #gone > 0 or has_large or call('EXISTS', X) == 1 then
    apart = what_lies_apart(ids, records, carried)
  end
  spread('HDEL', A, gone)
  return { name, number_at(high, low, next_high, 0), ids, records, apart, lost }
end
