#!lua
-- Moves tasks of one queue that are scheduled or submitted to another, those that are next in line first: each keeps its
-- score, and all that is known of it. Without `allow-oom`: what has to be noted of each adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 queue, 3 the other queue, 4 at most how many.
-- Answers how many, or the name of the one that does not exist.

-- include base numbers wake moves aside

local from, to, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
for _, name in ipairs({ from, to }) do
  if call('SISMEMBER', P .. 'queues', name) == 0 then
    return name
  end
end

local records, moved = {}, 0
local high, low, next_high = take_numbers(limit)

-- What a part of the queue holds, in its order: {{score, id}, …}.
local function next_in(part)
  local found, entries = call('ZRANGE', of(from, part), 0, limit - 1, 'WITHSCORES'), {}
  for i = 1, #found, 2 do
    entries[#entries + 1] = { found[i + 1], found[i] }
  end
  return entries
end

-- The ready tasks, those that stand aside among them.
local function next_ready()
  local entries, aside = next_in('r'), next_in('p')
  for _, entry in ipairs(aside) do
    entries[#entries + 1] = entry
  end
  if #aside > 0 then
    table.sort(entries, function(a, b) return tonumber(a[1]) < tonumber(b[1]) end)
  end
  return entries
end

-- Moves tasks in this order, as many as may be.
local function move(part, entries, list)
  for i = 1, min(limit - moved, #entries) do
    local score, id = entries[i][1], entries[i][2]
    local record, carry = call('HGET', T, id), call('HGET', A, id)
    if call('ZREM', of(from, part), id) == 0 and record then
      leave_aside(from, id, record)
    end
    if sized then
      note_out(from, { id })
    end
    -- A place without a record is what is left of a deleted key: it is dropped.
    if record then
      local rest = carry and sub(carry, 16) or sub(record, 1, 16) .. '000000000' .. NO_TIME .. sub(record, 38, 38)
      push(carries, id, number_at(high, low, next_high, moved) .. rest)
      push(records, id, sub(record, 1, 38) .. format('%03d', #to) .. to .. sub(record, 42 + #queue_of(record)))
      push(list, score, id)
      moved = moved + 1
    end
  end
end

local target = gathered(to)
move('r', next_ready(), target.ready)
move('s', next_in('s'), target.later)
if moved > 0 then
  gathered(from).counts.removed = moved
  target.counts.accepted = moved
end
spread('HSET', T, records)
write_moves(true)
return moved
