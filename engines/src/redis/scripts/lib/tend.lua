-- What time brings about: scheduled tasks become ready, leases run out. Whoever passes by does a bounded bit of it.

local function earlier(a, b)
  return a[1] < b[1] or (a[1] == b[1] and a[2] < b[2])
end

-- Walks what is overdue in a part of a queue, the earliest first: `entry` is the present one. Reads a piece at a time.
local function walk(name, part, piece)
  local walker = { read = 0, pieces = {}, at = 0 }
  function walker.step()
    if walker.at == #walker.pieces and walker.read % piece == 0 then
      local due = call('ZRANGEBYSCORE', of(name, part), '-inf', NOW, 'WITHSCORES', 'LIMIT', walker.read, piece)
      walker.pieces, walker.at = {}, 0
      for i = 1, #due, 2 do
        walker.pieces[#walker.pieces + 1] = { tonumber(due[i + 1]), due[i], name }
      end
      walker.read = #due == 0 and -1 or walker.read + #walker.pieces
    end
    walker.at = walker.at + 1
    walker.entry = walker.pieces[walker.at]
  end
  walker.step()
  return walker
end

-- Puts the first of a heap of walkers where it belongs.
local function sink(walkers, place)
  while 2 * place <= #walkers do
    local child = 2 * place
    if child < #walkers and earlier(walkers[child + 1].entry, walkers[child].entry) then
      child = child + 1
    end
    if not earlier(walkers[child].entry, walkers[place].entry) then
      return
    end
    walkers[place], walkers[child] = walkers[child], walkers[place]
    place = child
  end
end

-- The first `limit` entries of part `part` of the named queues whose time has come, the earliest first: {score, id, queue}.
-- The work is bounded by `limit` and the number of queues, not by their product.
local function overdue(names, part, limit)
  local walkers, found, piece = {}, {}, math.max(math.ceil(2 * limit / #names), 8)
  for _, name in ipairs(names) do
    local walker = walk(name, part, piece)
    walkers[#walkers + 1] = walker.entry and walker
  end
  for place = math.floor(#walkers / 2), 1, -1 do
    sink(walkers, place)
  end
  while #found < limit and walkers[1] do
    found[#found + 1] = walkers[1].entry
    walkers[1].step()
    if not walkers[1].entry then
      walkers[1] = walkers[#walkers]
      walkers[#walkers] = nil
    end
    sink(walkers, 1)
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
  local carried, promoted = call('HMGET', A, unpack(column(found))), 0
  local high, low, next_high = take_numbers(#found)
  for i, entry in ipairs(found) do
    local id, name, carry = entry[2], entry[3], carried[i]
    call('ZREM', of(name, 's'), id)
    -- A place without a record is what is left of a deleted key: it is dropped.
    if carry then
      local position = number_at(high, low, next_high, i - 1)
      push(carries, id, position .. sub(carry, 16))
      push(gathered(name).ready, score_of(sub(carry, 57, 57), position), id)
      promoted = promoted + 1
    elseif sized then
      note_out(name, { id })
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
  local leases = call('HMGET', M, unpack(column(found)))
  local high, low, next_high = take_numbers(#found)
  for i, entry in ipairs(found) do
    local id, queue, lease = entry[2], gathered(entry[3]), leases[i]
    push(queue.unlease, id)
    if lease and byte(lease) ~= 70 then
      local worker = string.match(lease, ';(.*)$', 81)
      local crashes, attempt = sub(lease, 55, 57) + 1, sub(lease, 49, 54)
      local revision = number_at(high, low, next_high, i - 1)
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
        call('HDEL', P .. 'u', id)
        put_back(queue, id, carry .. sub(lease, 17, 32) .. sub(lease, 63, 63) .. worker, score_in(lease))
        requeued = requeued + 1
      end
    end
  end
  return requeued, failed, cancelled
end
