#!lua
-- Moves tasks of one queue that are scheduled or submitted to another, those that are next in line first: each keeps its
-- score, and all that is known of it. Without `allow-oom`: what has to be noted of each adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 queue, 3 the other queue, 4 at most how many.
-- Answers how many, or the name of the one that does not exist.

-- include base numbers wake moves

local from, to, limit = ARGV[2], ARGV[3], tonumber(ARGV[4])
for _, name in ipairs({ from, to }) do
  if call('SISMEMBER', P .. 'queues', name) == 0 then
    return name
  end
end

local records, moved = {}, 0
local high, low, next_high = take_numbers(limit)

-- Moves what a part of the queue holds, in its order.
local function move(part, list)
  local found = limit > moved and call('ZRANGE', of(from, part), 0, limit - moved - 1, 'WITHSCORES') or {}
  for i = 1, #found, 2 do
    local id, score = found[i], found[i + 1]
    local record, carry = call('HGET', T, id), call('HGET', A, id)
    call('ZREM', of(from, part), id)
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
move('r', target.ready)
move('s', target.later)
if moved > 0 then
  gathered(from).counts.removed = moved
  target.counts.accepted = moved
end
spread('HSET', T, records)
write_moves(true)
return moved
