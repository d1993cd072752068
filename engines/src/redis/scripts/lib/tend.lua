-- What time brings about: scheduled tasks become ready, leases run out. Whoever passes by does a bounded bit of it.

-- The first `limit` entries of part `part` of the named queues whose time has come, the earliest first: {score, id, queue}.
local function overdue(names, part, limit)
  local found = {}
  for _, name in ipairs(names) do
    local due = call('ZRANGEBYSCORE', of(name, part), '-inf', NOW, 'WITHSCORES', 'LIMIT', 0, limit)
    for i = 1, #due, 2 do
      found[#found + 1] = { tonumber(due[i + 1]), due[i], name }
    end
  end
  if #names > 1 then
    table.sort(found, function(a, b)
      return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
    end)
  end
  for i = #found, limit + 1, -1 do
    found[i] = nil
  end
  return found
end

local function column(found)
  local ids = {}
  for i, entry in ipairs(found) do
    ids[i] = entry[2]
  end
  return ids
end

-- Moves due tasks to the ends of their queues. Answers how many.
local function promote(found)
  if #found == 0 then
    return 0
  end
  local carried, batch, promoted = call('HMGET', A, unpack(column(found))), next_batch(), 0
  for i, entry in ipairs(found) do
    local id, name, carry = entry[2], entry[3], carried[i]
    call('ZREM', of(name, 's'), id)
    -- A place without a record is what is left of a deleted key: it is dropped.
    if carry then
      local position = batch .. three(i - 1)
      push(carries, id, position .. sub(carry, 16))
      push(gathered(name).ready, score_of(sub(carry, 57, 57), position), id)
      promoted = promoted + 1
    end
  end
  return promoted
end

-- Takes expired leases back. The task keeps its place and its attempt number; its crashes grow by one. Answers how many
-- were requeued, failed and cancelled.
local function reclaim(found)
  local requeued, failed, cancelled = 0, 0, 0
  if #found == 0 then
    return requeued, failed, cancelled
  end
  local leases, batch = call('HMGET', M, unpack(column(found))), next_batch()
  for i, entry in ipairs(found) do
    local id, queue, lease = entry[2], gathered(entry[3]), leases[i]
    push(queue.unlease, id)
    if lease and byte(lease) ~= 70 then
      local worker = string.match(lease, ';(.*)$', 81)
      local crashes, attempt = sub(lease, 55, 57) + 1, sub(lease, 49, 54)
      local revision = batch .. three(i - 1)
      note_error(id, attempt, worker, 'c')
      local counted = three(crashes)
      if byte(lease) == 75 then
        call('SREM', P .. 'cancel:' .. worker, id)
        finish(queue, id, CANCELLED, revision, '0', 'N', sub(lease, 1, 54) .. counted .. sub(lease, 58))
        cancelled = cancelled + 1
      elseif crashes >= tonumber(sub(lease, 60, 62)) then
        local facts = sub(lease, 1, 54) .. counted .. sub(lease, 58)
        finish(queue, id, FAILED, revision, sub(lease, 59, 59), 'N', facts)
        failed = failed + 1
      else
        local carry = revision .. sub(lease, 33, 48) .. format('%06d', attempt - 1) .. counted
        put_back(queue, id, carry .. sub(lease, 17, 32) .. sub(lease, 63, 63) .. worker, score_in(lease))
        requeued = requeued + 1
      end
    end
  end
  return requeued, failed, cancelled
end
