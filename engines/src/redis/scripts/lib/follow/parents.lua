-- What tasks keep of their predecessors until they are over.
--
--  g:from  by id: the predecessors of a task (see `parents` in layout.rs)
--  g:held  by id: how many tasks hold a task
--  g:kept  by id: how a task ended that was deleted while it was held
--  g:left  lists of predecessors that removed tasks still hold; while there are any, `g:due` has LEFT_DUE

local PARENTS, HELD_BY, HELD_RESULTS, LEFT = P .. 'g:from', P .. 'g:held', P .. 'g:kept', P .. 'g:left'
local ENDS_DUE = P .. 'g:due'
-- include left_due
-- How many predecessors a removal lets go of per task, and a chore at a time.
local PARENTS_A_REMOVAL, PARENTS_A_CHORE = 8, 1000
-- Longer lists, in bytes, are let go of in pieces by later steps; and of how many predecessors.
local LONG_LIST, PARENTS_A_PIECE = 32768, 500

-- The ids in a list of predecessors.
local function each_parent(list)
  return string.gmatch(sub(list, @parents.rest.at), '[^%z]+')
end

-- The values stored by id, of many tasks, in the order of their ids.
local function read_values(key, ids)
  if #ids <= 1000 then
    return ids[1] and call('HMGET', key, unpack(ids)) or {}
  end
  local found = {}
  for first = 1, #ids, 1000 do
    for i, value in ipairs(call('HMGET', key, unpack(ids, first, min(first + 999, #ids)))) do
      found[first + i - 1] = value
    end
  end
  return found
end

-- Changes how many tasks hold others: by id, the change. What is known of those that none holds any more is deleted.
local function change_holders(changes)
  local ids, counted, gone = {}, {}, {}
  for id in pairs(changes) do
    ids[#ids + 1] = id
  end
  for i, count in ipairs(read_values(HELD_BY, ids)) do
    local id = ids[i]
    local left = (tonumber(count) or 0) + changes[id]
    if left > 0 then
      counted[#counted + 1] = id
      counted[#counted + 1] = left
    else
      gone[#gone + 1] = id
    end
  end
  spread('HSET', HELD_BY, counted)
  spread('HDEL', HELD_BY, gone)
  if gone[1] and call('EXISTS', HELD_RESULTS) == 1 then
    spread('HDEL', HELD_RESULTS, gone)
  end
end

-- Leaves a list of predecessors to the steps that let go of them, in pieces.
local function leave_list(list)
  local pieces, first, at, count = {}, @parents.rest.at, @parents.rest.at, 0
  local zero = string.find(list, '\0', at, true)
  while zero do
    at, count = zero + 1, count + 1
    if count == PARENTS_A_PIECE or at > #list then
      pieces[#pieces + 1] = @flag.yes .. sub(list, first, zero)
      first, count = at, 0
    end
    zero = string.find(list, '\0', at, true)
  end
  spread('RPUSH', LEFT, pieces)
  call('ZADD', ENDS_DUE, 0, LEFT_DUE)
end

-- Adds a list of predecessors to changes for `change_holders`. Returns how many these are.
local function note_holders(changes, list, change)
  local count = 0
  for on in each_parent(list) do
    changes[on], count = (changes[on] or 0) + change, count + 1
  end
  return count
end

-- Stores the predecessors of new tasks, pairs of id and list, which hold them from now on.
local function hold_parents(lists)
  local changes = {}
  for i = 2, #lists, 2 do
    note_holders(changes, lists[i], 1)
  end
  spread('HSET', PARENTS, lists)
  change_holders(changes)
end

-- A list of predecessors is held no longer. Returns how many these were.
local function let_go(list)
  local changes = {}
  local count = note_holders(changes, list, -1)
  change_holders(changes)
  return count
end

-- How a finished task ended: its state, and its result if it has one.
local function result_in(record)
  if byte(record) ~= @state.completed.byte then
    return sub(record, @record.state)
  end
  local high, low = byte(record, @ending.open_length)
  local first, last = @ending.queue.at + high * 256 + low, #record - byte(record, @ending.worker_length.at)
  if byte(record, first) == @remains.marked.byte and first <= last then
    local length_at = first - 1 + @remains.result_length.at
    first = first - 1 + @remains.rest.at
    last = first - 1 + unpack_at('>I4', record, length_at)
  end
  return sub(record, @record.state) .. sub(record, first, last)
end

-- Keeps how those of some finished tasks ended that are to be deleted and that others hold, at most 1,000.
local function keep_results(ids)
  local held, results = {}, {}
  for i, count in ipairs(call('HMGET', HELD_BY, unpack(ids))) do
    if count then
      held[#held + 1] = ids[i]
    end
  end
  for i, record in ipairs(held[1] and call('HMGET', T, unpack(held)) or {}) do
    if record and is_over(record) then
      results[#results + 1] = held[i]
      results[#results + 1] = result_in(record)
    end
  end
  spread('HSET', HELD_RESULTS, results)
end

-- Forgets the predecessors of tasks that are removed, at most 1,000. This lets go of some per task, and leaves the others to
-- later steps.
local function forget_parents(ids)
  local room, left = PARENTS_A_REMOVAL * #ids, {}
  for i, list in ipairs(call('HMGET', PARENTS, unpack(ids))) do
    local holds = list and sub(list, @parents.holds) == @flag.yes
    if holds and #list > LONG_LIST then
      leave_list(list)
    elseif holds and room > 0 then
      room = room - let_go(list)
    elseif holds then
      left[#left + 1] = list
    end
  end
  call('HDEL', PARENTS, unpack(ids))
  if left[1] then
    spread('RPUSH', LEFT, left)
    call('ZADD', ENDS_DUE, 0, LEFT_DUE)
  end
end

-- Lets go of predecessors that removed tasks still hold: about as many as one task may have.
local function let_go_left()
  local room = PARENTS_A_CHORE
  while room > 0 do
    local list = call('LPOP', LEFT)
    if not list then
      return
    end
    room = room - let_go(list)
  end
  call('ZADD', ENDS_DUE, 0, LEFT_DUE)
end
