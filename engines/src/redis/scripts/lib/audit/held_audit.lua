-- The audit of what tasks keep of their predecessors (see parents.lua).

-- How many lists, and predecessors in them, are counted in one step. Of more, only what one entry shows is checked.
local LISTS_COUNTED, PARENTS_COUNTED, LEFT_COUNTED = 500, 5000, 20

-- A step reads one list, because it may name 10,000 tasks, and few results, because they may be large.
local LISTS_A_STEP, RESULTS_A_STEP = 1, 10

local function are_lists_counted()
  return call('HLEN', PARENTS) <= LISTS_COUNTED
end

-- How many tasks hold each task, by its id; nothing if these are too many for one step.
local function count_holders()
  local counts, seen, room, at = {}, {}, PARENTS_COUNTED, '0'
  local function count(list)
    for on in each_parent(list) do
      counts[on], room = (counts[on] or 0) + 1, room - 1
    end
  end
  repeat
    local found = call('HSCAN', PARENTS, at, 'COUNT', 50)
    at = found[1]
    for i = 1, #found[2], 2 do
      local id, list = found[2][i], found[2][i + 1]
      if not seen[id] and sub(list, @parents.holds) == @flag.yes then
        count(list)
      end
      seen[id] = true
    end
  until at == '0' or room < 0
  -- Those that removed tasks have not let go of yet.
  for _, list in ipairs(room >= 0 and call('LRANGE', LEFT, 0, LEFT_COUNTED) or {}) do
    count(list)
  end
  return room >= 0 and call('LLEN', LEFT) <= LEFT_COUNTED and counts
end

-- Whether what a task holds is counted.
local function check_counted(id, list)
  local parents = {}
  for on in each_parent(list) do
    parents[#parents + 1] = on
  end
  for first = 1, #parents, 1000 do
    local last = min(first + 999, #parents)
    for i, count in ipairs(call('HMGET', HELD_BY, unpack(parents, first, last))) do
      if not count then
        note('miscounted', parents[first + i - 1], id .. ' holds its result, and no task is counted that does')
      end
    end
  end
end

-- A task is over: it holds its predecessors no longer.
local function release_parents(id, list)
  call('HSET', PARENTS, id, @flag.no .. sub(list, @parents.rest.at))
  let_go(list)
end

-- Lists of predecessors: whether their tasks exist, and hold these only while they are not over.
local function audit_lists()
  local found = scan('HSCAN', PARENTS, math.max(1, min(limit, LISTS_A_STEP)))
  for i = 1, #found[2], 2 do
    local id, list = found[2][i], found[2][i + 1]
    local record, holds = call('HGET', T, id), sub(list, @parents.holds) == @flag.yes
    looked_at = looked_at + 1
    if not record then
      note('orphan', id, 'it has predecessors and no record', function()
        if holds then
          release_parents(id, list)
        end
        call('HDEL', PARENTS, id)
      end)
    elseif holds and is_over(record) and not is_put_off(id) then
      note('orphan', id, 'it is over and still holds the results of its predecessors', function()
        release_parents(id, list)
      end)
    elseif holds and not are_lists_counted() then
      check_counted(id, list)
    end
  end
  return found[1]
end

-- Stores how many tasks hold a task. What is kept of one that none holds is deleted.
local function set_holders(id, count)
  if count > 0 then
    call('HSET', HELD_BY, id, count)
  else
    call('HDEL', HELD_BY, id)
    call('HDEL', HELD_RESULTS, id)
  end
end

local function note_miscounted(id, counted, right)
  note('miscounted', id, right .. ' tasks hold its result, and ' .. counted .. ' are counted', function()
    set_holders(id, right)
  end)
end

-- Compares all counts of holders with the lists.
local function compare_holders(counts)
  local stored = call('HGETALL', HELD_BY)
  for i = 1, #stored, 2 do
    local id, right = stored[i], counts[stored[i]] or 0
    looked_at, counts[id] = looked_at + 1, nil
    if stored[i + 1] ~= tostring(right) then
      note_miscounted(id, stored[i + 1], right)
    end
  end
  for id, right in pairs(counts) do
    note_miscounted(id, 'none', right)
  end
end

-- Counts of holders.
local function audit_holders()
  local are_few = from == '' and are_lists_counted() and call('HLEN', HELD_BY) <= PARENTS_COUNTED
  local counts = are_few and count_holders()
  if counts then
    compare_holders(counts)
    return ''
  end
  local found = scan('HSCAN', HELD_BY, limit)
  for i = 1, #found[2], 2 do
    looked_at = looked_at + 1
    if not string.find(found[2][i + 1], '^[1-9]%d*$') then
      note('miscounted', found[2][i], found[2][i + 1] .. ' tasks are counted that hold its result')
    end
  end
  return found[1]
end

-- What is kept of deleted tasks: whether it is an end, and a task holds it.
local function audit_results()
  local found = scan('HSCAN', HELD_RESULTS, math.max(1, min(limit, RESULTS_A_STEP)))
  for i = 1, #found[2], 2 do
    local id, kept = found[2][i], found[2][i + 1]
    looked_at = looked_at + 1
    if call('HEXISTS', HELD_BY, id) == 0 then
      note('orphan', id, 'its result is kept, and no task holds it', function()
        call('HDEL', HELD_RESULTS, id)
      end)
    elseif kept == '' or not is_over(kept) then
      note('unreadable', id, 'what is kept of it is no end of a task')
    end
  end
  return found[1]
end
