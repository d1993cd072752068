#!lua flags=allow-oom
-- Moves due tasks of all queues to their queues, the longest due first, and wakes workers. Continues counting tasks that
-- queues held when they got a max_bytes, and sending signals that earlier steps left. Forgets signals that were kept in vain.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit, 3 how many signals from outside are timed out at most.
-- Returns how many tasks were moved, and 1 if further queues or signals are due else 0.

-- include base numbers wake moves lane agenda maintain

-- How many queues one call checks.
local MOST_QUEUES = 125

if call('EXISTS', P .. 'g:due') == 1 then
  -- include put_off
  signal_put_off()
end
local is_more_late = false
if call('EXISTS', P .. 'g:timeouts') == 1 then
  -- include time_out
  is_more_late = time_out(tonumber(ARGV[3]))
end
if call('EXISTS', P .. 'g:early') == 1 then
  call('ZREMRANGEBYSCORE', P .. 'g:early', '-inf', NOW)
end
local late = queues_due('s', MOST_QUEUES)
local promoted = promote(overdue(late, 's', tonumber(ARGV[2])))
write_moves(true)
note_first(late, 's')
if limited then
  -- Gates that are due: the worker that knew of the time may be busy by now.
  for _, name in ipairs(call('HKEYS', P .. 'gates')) do
    local due = call('ZCOUNT', of(name, 'e'), '-inf', NOW)
    if due > 0 then
      wake(name, due)
    end
  end
end

-- The part that the walk reads after a part of a queue.
local NEXT_PART = { q = 'r', r = 'p', p = 's', s = 'd' }

-- Counts a piece of the tasks in a queue: first ready tasks, then those set aside, scheduled, and waiting for others. A
-- task that joins or moves meanwhile is counted when it does.
local function size_more(name, place)
  local part, found = sub(place, @sizing.part), nil
  if part == 'q' then
    -- Queues with limits of their own use no lane.
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
return { promoted, (#late == MOST_QUEUES or is_more_late) and 1 or 0 }
