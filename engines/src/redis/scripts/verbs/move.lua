#!lua
-- Moves tasks of one queue that are waiting, scheduled or submitted to another, those that are next in line first: each keeps its
-- score, and its side records. Without `allow-oom`: the notes for each add to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 queue, 3 the other queue, 4 a limit.
-- Returns how many, or the name of the one that does not exist.

-- include base numbers wake moves aside lane places

local from, to, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
for _, name in ipairs({ from, to }) do
  if not call('ZSCORE', P .. 'queues', name) then
    return name
  end
end

local moved = 0
leave_lane(from, limit)
local high, low, next_high = take_numbers(limit)

-- What a part of the queue holds, in its order.
local function next_in(part)
  local found, entries = call('ZRANGE', of(from, part), 0, limit - 1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    entries[#entries + 1] = { score = found[i + 1], id = found[i] }
  end
  return entries
end

-- The ready tasks, including those that are set aside.
local function next_ready()
  local entries, aside = next_in('r'), next_in('p')
  for _, entry in ipairs(aside) do
    entries[#entries + 1] = entry
  end
  if #aside > 0 then
    table.sort(entries, function(a, b) return tonumber(a.score) < tonumber(b.score) end)
  end
  return entries
end

-- A record with a new revision and the name of the other queue.
local function renamed(record, revision)
  local length = number_in(record, @lease.open_length) + #to - byte(record, @lease.queue_length.at)
  return sub(record, @lease.state) .. revision .. sub(record, @lease.position.at, @lease.expires.last) .. two_bytes(length)
    .. string.char(#to) .. to .. sub(record, @lease.queue.at + byte(record, @lease.queue_length.at))
end

local target = gathered(to)

-- Moves tasks in this order, as many as allowed.
local function move(entries, list)
  local ids, scores = {}, {}
  for i = 1, min(limit - moved, #entries) do
    ids[i], scores[i] = entries[i].id, entries[i].score
  end
  if #ids == 0 then
    return
  end
  local found = call('HMGET', T, unpack(ids))
  leave(from, ids, found)
  if sized then
    note_out(from, ids)
  end
  for i, record in ipairs(found) do
    -- An entry without a record is left from a deleted key: it is dropped.
    if record then
      push(records, ids[i], renamed(with_history(record), number_at(high, low, next_high, moved)))
      if list == target.ready then
        push_ready(target, record, scores[i], ids[i])
      else
        push(list, scores[i], ids[i])
      end
      moved = moved + 1
    end
  end
end

move(next_ready(), target.ready)
move(next_in('s'), target.later)
move(next_in('d'), target.waiting)
if moved > 0 then
  gathered(from).counts.removed = moved
  target.counts.accepted = moved
end
write_moves(true)
return moved
