-- Leasing ready tasks to a worker.

-- Takes up to `limit` tasks of a queue. Answers {queue, fences' batch, first index, ids, records, apart, lost}, or nil
-- for none. `apart` holds what only some tasks have: {place in ids, carry, news, body}, each or an empty string; `lost`
-- the ids whose record is gone. A task's fence is the batch's digits and its place, counted from the first index.
local function claim(name, limit, worker, deadline, batch, first_index)
  local ready = call('ZPOPMIN', of(name, 'r'), limit)
  local ids, lost, count = {}, {}, #ready / 2
  if count == 0 then
    return nil
  end
  for i = 1, count do
    ids[i] = ready[2 * i - 1]
  end
  local records = call('HMGET', T, unpack(ids))
  local carried = call('EXISTS', A) == 1 and call('HMGET', A, unpack(ids)) or {}
  local news = call('EXISTS', X) == 1 and call('HMGET', X, unpack(ids)) or {}
  local tail, leased, expiries, apart, gone = name .. ';' .. worker, {}, {}, {}, {}
  local kept_ids, kept_records, place = {}, {}, 0
  for i = 1, count do
    local id, record = ids[i], records[i]
    if record then
      place = place + 1
      kept_ids[place], kept_records[place] = id, record
      local ready_at, attempt, crashes, carry = sub(record, 1, 16), '000001', '000', carried[i]
      if carry then
        ready_at, attempt, crashes = sub(carry, 16, 31), format('%06d', sub(carry, 32, 37) + 1), sub(carry, 38, 40)
        gone[#gone + 1] = id
      end
      local fence, score = batch .. format('%03d', first_index + place - 1), ready[2 * i]
      push(leased, id, 'L' .. fence .. NOW .. ready_at .. attempt .. crashes .. sub(record, 33, 38)
        .. format('%17s', score) .. tail)
      push(expiries, deadline, id)
      local large = byte(record, 33) == 76
      if carry or news[i] or large then
        apart[#apart + 1] = { place, carry or '', news[i] or '', large and call('HGET', B, id) or '' }
      end
    else
      lost[#lost + 1] = id
    end
  end
  spread('HSET', M, leased)
  spread('ZADD', of(name, 'l'), expiries)
  spread('HDEL', A, gone)
  return { name, batch, first_index, kept_ids, kept_records, apart, lost }
end
