#!lua flags=allow-oom
-- Moves due tasks of all queues to their queues, the longest due first, and wakes workers. Goes on with counting what
-- stood in queues when they got a max_bytes, and with signals that earlier steps put off.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 at most how many. Answers how many, and 1 if further queues are due
-- else 0.

-- include base numbers wake moves lane agenda maintain

-- Queues that one call looks at.
local MOST_QUEUES = 500

if call('EXISTS', P .. 'g:due') == 1 then
  -- include put_off
  signal_put_off()
end
local late = queues_due('s', MOST_QUEUES)
local promoted = promote(overdue(late, 's', tonumber(ARGV[2])))
write_moves(true)
note_first(late, 's')
if limited then
  -- Gates whose time has come: who was told of it may be busy by now.
  for _, name in ipairs(call('HKEYS', P .. 'gates')) do
    local due = call('ZCOUNT', of(name, 'e'), '-inf', NOW)
    if due > 0 then
      wake(name, due)
    end
  end
end

-- What is gone through after a part of a queue.
local NEXT_PART = { q = 'r', r = 'p', p = 's', s = 'd' }

-- A piece of what stood in a queue: first what is ready, then what stands aside, what is scheduled, and what
-- waits for others. What comes to stand there meanwhile, or moves from one to the other, is counted as it does.
local function size_more(name, place)
  local part, found = sub(place, @sizing.part), nil
  if part == 'q' then
    -- Queues with limits of their own do without a lane.
    leave_lane(name, LANE_PIECE)
    if call('EXISTS', of(name, 'q')) == 0 then
      size_more(name, NEXT_PART[part] .. '0')
    end
    return
  end
  found = call('ZSCAN', of(name, part), sub(place, @sizing.rest.at), 'COUNT', 1000)
  local entries = {}
  for i = 1, #found[2], 2 do
    push(entries, '', found[2][i])
  end
  note_in(name, entries)
  if found[1] ~= '0' then
    call('HSET', P .. 'sizing', name, part .. found[1])
  elseif NEXT_PART[part] then
    size_more(name, NEXT_PART[part] .. '0')
  else
    call('HDEL', P .. 'sizing', name)
  end
end

if sized then
  local places = call('HGETALL', P .. 'sizing')
  for i = 1, #places, 2 do
    size_more(places[i], places[i + 1])
  end
end
return { promoted, #late == MOST_QUEUES and 1 or 0 }
