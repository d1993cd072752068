-- Maintenance in bounded steps: promotes scheduled tasks that are due and takes expired leases back. Included.

local function earlier(a, b)
  return a.score < b.score or (a.score == b.score and a.id < b.id)
end

-- Walks the overdue entries in a part of a queue, the earliest first: `entry` is the present one. Reads in pieces.
local function walk(name, part, piece)
  local walker = { read = 0, pieces = {}, at = 0 }
  function walker.step()
    if walker.at == #walker.pieces and walker.read % piece == 0 then
      local due = call('ZRANGEBYSCORE', of(name, part), '-inf', NOW, 'WITHSCORES', 'LIMIT', walker.read, piece)
      walker.pieces, walker.at = {}, 0
      for i = 1, #due, 2 do
        walker.pieces[#walker.pieces + 1] = { score = tonumber(due[i + 1]), id = due[i], queue = name }
      end
      walker.read = #due == 0 and -1 or walker.read + #walker.pieces
    end
    walker.at = walker.at + 1
    walker.entry = walker.pieces[walker.at]
  end
  walker.step()
  return walker
end

-- Restores the heap order below the first walker.
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

-- The first `limit` entries of part `part` of the named queues whose time has come, the earliest first.
-- The work is bounded by `limit` and the number of queues, not by their product.
local function overdue(names, part, limit)
  if #names == 0 then
    return {}
  end
  local walkers, found, piece = {}, {}, math.max(math.ceil(limit / #names), 4)
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

-- The records of overdue entries.
local function records_of(found)
  local ids = {}
  for i, entry in ipairs(found) do
    ids[i] = entry.id
  end
  return call('HMGET', T, unpack(ids))
end

-- For tasks that workers gave back as unknown with a delay: since when each was ready before.
local function ready_before(found)
  local since, ids = {}, {}
  if call('EXISTS', P .. 'u') == 1 then
    for i, entry in ipairs(found) do
      ids[i] = entry.id
    end
    for i, known in ipairs(call('HMGET', P .. 'u', unpack(ids))) do
      since[i] = known and #known == @unknown.ready_at.last and sub(known, @unknown.ready_at)
    end
  end
  return since
end

-- Moves due tasks to the ends of their queues. Returns how many.
local function promote(found)
  if #found == 0 then
    return 0
  end
  local stored, promoted = records_of(found), 0
  local ready_since = ready_before(found)
  local high, low, next_high = take_numbers(#found)
  for i, entry in ipairs(found) do
    local id, name, record = entry.id, entry.queue, stored[i]
    call('ZREM', of(name, 's'), id)
    -- An entry that does not match the record is left from a deleted key: it is dropped.
    if record and byte(record) == @state.scheduled.byte then
      local position = number_at(high, low, next_high, i - 1)
      push(records, id, @state.submitted .. position .. position .. (ready_since[i] or sub(record, @lease.ready_at))
        .. sub(record, @lease.started_at.at))
      push_ready(gathered(name), record, score_of(sub(record, @lease.priority), position), id)
      promoted = promoted + 1
    elseif sized then
      note_out(name, { id })
    end
  end
  return promoted
end

-- Takes expired leases back, at most `most`; of a batch those that it still has. The task keeps its place and its attempt
-- number; its crashes grow by one, and it may be suspected or blamed. Returns how many were requeued, and the records of
-- those that ended.
local function reclaim(found, most)
  local requeued, ended = 0, {}
  if #found == 0 then
    return requeued, ended
  end
  -- include batches own_leases overdue_leases held losses tries
  local stored
  found, stored = overdue_leases(found, most)
  local high, low, next_high = take_numbers(#found)
  local has_unknown = call('EXISTS', P .. 'u') == 1
  for i, entry in ipairs(found) do
    local id, queue, lease = entry.id, gathered(entry.queue), stored[i]
    push(queue.unlease, id)
    if lease and is_running(lease) then
      local fence, crashes = sub(lease, @lease.revision), number_in(lease, @lease.crashes) + 1
      local revision = number_at(high, low, next_high, i - 1)
      note_error(id, lease, @failure.crash)
      local blames, is_blamed = judge_loss(lease)
      local counts, exhausted, dead_letter = tries_of(lease)
      if is_blamed and blames >= byte(lease, @lease.max_crashes.at) then
        exhausted, dead_letter = @state.failed, sub(lease, @lease.dead_letter)
      end
      local counted = sub(lease, 1, @lease.attempt.last) .. two_bytes(crashes) .. lost_again(lease, entry.score)
        .. string.char(blames)
        .. sub(lease, @lease.worker_length.at)
      if byte(lease) == @state.cancelling.byte then
        call('SREM', P .. 'cancel:' .. worker_of(lease), id)
        finish(queue, id, counted, @state.cancelled, revision, @flag.no, @by.store, fence)
        ended[#ended + 1] = records[#records]
      elseif exhausted then
        finish(queue, id, counted, exhausted, revision, dead_letter, @by.store, fence)
        ended[#ended + 1] = records[#records]
      else
        if has_unknown then
          call('HDEL', P .. 'u', id)
        end
        local record = @state.submitted .. revision .. sub(counted, @lease.position.at, @lease.started_at.last)
          .. two_bytes(number_in(lease, @lease.attempt) - (counts and 0 or 1)) .. sub(counted, @lease.crashes.at)
        put_back(queue, id, record, score_in(record))
        push(queue.retried, id)
        requeued = requeued + 1
      end
    end
  end
  leave_batches()
  return requeued, ended
end
