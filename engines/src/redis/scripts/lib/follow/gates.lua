-- Limits by key and by task, in the claim, and kinds of tasks that it refuses. Included, behind `limits` and `aside`,
-- only if a queue has limits, or a claim refuses kinds.
--
-- A claim from a queue with such limits first clears the front: it sets aside the tasks there whose gate is shut
-- (aside.lua), so that every task it then leases may start, and no later claim walks past them again. The hash `gates`
-- holds, by queue, a line for each limit: `k` or `t` and a task's name, how many may run, and tasks, period and burst
-- of the rate; 0 for none. A queue whose limits were removed has an empty text until no task is set aside. By queue:
--
--   h  the holders of slots: a gate with a limit of slots, a zero byte, the id; as long as the task is leased
--   e  gates that may let tasks pass, by time: now, after one of its tasks has ended, or when its rate allows the next
--   t  gates by the marks of their rates, of those in the future
--   v  the gate after which, in the order of names, the gates must still be checked again: limits have changed
--   k  where the walk continues that notes the holders of slots from the leases: limits have changed
--
-- A claim lets as many tasks return as may start, and checks the gates of each again. So an unneeded entry of `e` costs
-- one check. An entry is removed only by a claim that finds the gate shut until a task ends, or finds no task behind
-- it.

-- For how many tasks of each queue one claim checks gates, and how many it lets return; and how many gates it checks.
local MAX_ASKED, MAX_GATES = 1000, 100
-- How many tasks a claim that refuses kinds takes from the lane at first, beyond those it wants: other workers may take them
-- before it comes again. Then twice as many as are set aside.
local FEW_ASKED = 100
-- How many leases one step may still read to note the holders of slots.
local may_count, LEASES_A_PIECE = 500, 50

local rules, stands, budgets = {}, {}, {}
-- By queue, the gates of the kinds of tasks that the claim refuses.
local refused_in = {}
local has_gates = call('EXISTS', P .. 'gates') == 1

-- include pass

-- The limits of a queue: by `k`, or `t` and a name. nil for none.
local function rules_of(name)
  if has_gates and rules[name] == nil then
    local text = call('HGET', P .. 'gates', name)
    local read = text and {}
    for gate, slots, tasks, period, burst in string.gmatch(text or '', '(%S+) (%d+) (%d+) (%d+) (%d+)') do
      read[gate] = { slots = tonumber(slots), tasks = tonumber(tasks), period = tonumber(period), burst = tonumber(burst) }
    end
    rules[name] = read
  end
  return rules[name] or nil
end

local function rule_of(queue_rules, gate)
  return queue_rules[byte(gate) == @gate.key.byte and 'k' or gate]
end

-- The gates that a task passes, in the order in which they are checked.
local function gates_of(queue_rules, record)
  local gates, task, key = {}, told_by(record)
  if key and queue_rules.k then
    gates[1] = 'k' .. key
  end
  if task and queue_rules['t' .. task] then
    gates[#gates + 1] = 't' .. task
  end
  return gates
end

-- The state of a gate in this call: how many of its tasks run, and the mark of its rate.
local function stand_of(name, gate)
  local at = name .. NUL .. gate
  if not stands[at] then
    local rule = rule_of(rules_of(name), gate)
    local stand = { slots = rule.slots, tasks = rule.tasks, period = rule.period, burst = rule.burst, running = 0,
      name = name, gate = gate }
    if stand.slots > 0 then
      stand.running = call('ZLEXCOUNT', of(name, 'h'), bounds_of(gate))
    end
    if stand.tasks > 0 then
      stand.left = take_stand(stand, call('ZSCORE', of(name, 't'), gate))
    end
    stands[at] = stand
  end
  return stands[at]
end

-- In how long the tasks due within 10 ms may start: no more than half a burst, at least one task.
local function next_wait(stand)
  local few = math.max(min(floor(stand.tasks * 10000 / stand.period), floor(stand.burst / 2)), 1)
  local lacking = stand.debt + (few - stand.burst) * stand.period
  return math.max(divide(lacking + stand.tasks - 1, stand.tasks), 0)
end

-- Why a gate is shut: 'full', or when its rate allows the next; nil for an open one.
local function shut_by(stand)
  if stand.slots > 0 and stand.running >= stand.slots then
    return 'full'
  elseif stand.tasks > 0 and stand.left < 1 then
    return format('%.0f', now + next_wait(stand))
  end
end

local function note_shut(name, gate, shut)
  if shut == 'full' then
    call('ZREM', of(name, 'e'), gate)
  else
    call('ZADD', of(name, 'e'), shut, gate)
  end
end

-- Counts a task that starts now.
local function pass(stand)
  stand.running = stand.running + 1
  if stand.tasks > 0 then
    stand.mark, stand.is_marked = stand.mark + divide(stand.period, stand.tasks), true
    stand.debt = (stand.mark - now) * stand.tasks
    stand.left = divide(stand.burst * stand.period - stand.debt, stand.period)
  end
end

local function is_awaited(name, gate)
  local first, last = bounds_of(gate)
  return call('ZRANGEBYLEX', of(name, 'y'), first, last, 'LIMIT', 0, 1)[1] ~= nil
end

-- After a change of limits: gates with waiting tasks are due now.
local function recheck_gates(name)
  local key, after = of(name, 'v'), call('GET', of(name, 'v'))
  -- Suspects and tasks of unknown kinds do not wait for a limit.
  after = after == '' and '@' or after
  for _ = 1, after and MAX_GATES or 0 do
    local place = call('ZRANGEBYLEX', of(name, 'y'), '(' .. after .. '\1', '+', 'LIMIT', 0, 1)[1]
    if not place then
      call('DEL', key)
      return
    end
    after = sub(place, 1, string.find(place, NUL, 1, true) - 1)
    call('ZADD', of(name, 'e'), NOW, after)
  end
  if after then
    call('SET', key, after)
  end
end

-- Lets as many tasks of each due gate return as may start.
local function let_due_pass(name, wanted, budget)
  for _, gate in ipairs(call('ZRANGEBYSCORE', of(name, 'e'), '-inf', NOW, 'LIMIT', 0, MAX_GATES)) do
    local stand = rule_of(rules_of(name), gate) and stand_of(name, gate)
    local shut, room = stand and shut_by(stand), min(wanted, budget.may_pass)
    if shut then
      note_shut(name, gate, shut)
    elseif room > 0 then
      if stand and stand.slots > 0 then
        room = min(room, stand.slots - stand.running)
      end
      if stand and stand.tasks > 0 then
        room = min(room, stand.left)
      end
      local passed = let_pass(name, gate, room)
      budget.may_pass = budget.may_pass - passed
      if passed < room then
        call('ZREM', of(name, 'e'), gate)
      end
    end
  end
end

-- Forgets a queue whose limits were removed, once no task is set aside.
local function forget_if_done(name)
  if not rules_of(name) or next(rules_of(name)) or call('EXISTS', of(name, 'p')) == 1 then
    return
  end
  for _, part in ipairs({ 'y', 'h', 'e', 't', 'v', 'k' }) do
    call('DEL', of(name, part))
  end
  call('HDEL', P .. 'gates', name)
  if string.find(call('HGET', P .. 'limits', name) or '', '^[0 ]+$') then
    call('HDEL', P .. 'limits', name)
  end
end

-- Whether a task may start; if so, counts it, or adds it to `expired` if it has expired. Else returns the shut gate.
local function ask(name, id, record, budget, expired)
  local kind
  if refused_in[name] then
    local task, _, version = told_by(record)
    kind = gate_of_kind(task, version)
  end
  if kind and refused_in[name][kind] then
    budget.left_to_others[kind] = (budget.left_to_others[kind] or 0) + 1
    return kind
  end
  local gates = gates_of(rules_of(name) or {}, record)
  for _, gate in ipairs(gates) do
    local shut = shut_by(stand_of(name, gate))
    if shut then
      note_shut(name, gate, shut)
      budget.sets_time = budget.sets_time or shut ~= 'full'
      return gate
    end
  end
  local expires_at = byte(record) == @state.fresh.byte and @fresh.expires.at or @lease.expires.at
  if expired and byte(record, expires_at) == @flag.yes.byte then
    -- include expiry
    if has_expired(record) then
      expired[#expired + 1] = { name, id, record }
      return nil
    end
  end
  for _, gate in ipairs(gates) do
    local stand = stand_of(name, gate)
    pass(stand)
    if stand.slots > 0 then
      add_pair(budget.held, 0, gate .. NUL .. id)
    end
  end
end

-- The entries of `h` that a leased task has.
local function slots_of(queue_rules, id, record)
  local held = {}
  for _, gate in ipairs(gates_of(queue_rules, record)) do
    if rule_of(queue_rules, gate).slots > 0 then
      held[#held + 1] = gate .. NUL .. id
    end
  end
  return held
end

-- After a change of limits: notes the holders of slots from the leases, a piece in each step. Returns whether all are
-- noted. Until then nothing is claimed, because a slot might be given twice.
local function are_slots_known(name)
  local key = of(name, 'k')
  local from = call('GET', key)
  if not from or may_count <= 0 then
    return not from
  end
  -- include batches
  local held = {}
  local function note_slots(id, record)
    for _, slot in ipairs(slots_of(rules_of(name), id, record)) do
      add_pair(held, 0, slot)
    end
  end
  repeat
    -- An entry may be a batch of leases.
    local found, ids = call('ZSCAN', of(name, 'l'), from, 'COUNT', LEASES_A_PIECE), {}
    from = found[1]
    for i = 1, #found[2], 2 do
      local batch, is_batch = batch_by_entry(name, found[2][i])
      local in_batch, _, records = unpack(batch and { held_in(batch) } or { {} })
      for place, id in ipairs(in_batch) do
        note_slots(id, records[place])
      end
      may_count = may_count - #in_batch
      ids[#ids + 1] = not is_batch and found[2][i] or nil
    end
    may_count = may_count - #ids
    for i, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
      if record and is_running(record) then
        note_slots(ids[i], record)
      end
    end
  until from == '0' or may_count <= 0
  spread('ZADD', of(name, 'h'), held)
  if from == '0' then
    call('DEL', key)
    return true
  end
  call('SET', key, from)
  return false
end

-- Lets tasks return whose gates may let them pass. Returns whether any task may be claimed.
local function let_back(name, wanted)
  if not budgets[name] then
    budgets[name] = { left = MAX_ASKED, may_pass = MAX_ASKED, held = {}, left_to_others = {} }
    call('ZREMRANGEBYSCORE', of(name, 't'), '-inf', NOW)
  end
  if not are_slots_known(name) then
    return false
  end
  local most = MAX_ASKED
  if refused_in[name] then
    most = min(most, wanted + math.max(FEW_ASKED, 2 * call('ZCARD', of(name, 'p'))))
  end
  leave_lane(name, most)
  recheck_gates(name)
  let_due_pass(name, wanted, budgets[name])
  return true
end

-- Whether a suspect may start: as `ask`.
local function ask_suspect(name, id, record)
  return ask(name, id, record, budgets[name])
end

-- Sets aside tasks that may not start, and adds those that have expired to `expired`, until `wanted` tasks at the queue's
-- front may start, or none are left. Returns how many may start; they are counted as started. It also stops at an
-- expired task in whose place one that is set aside may return.
local function make_way(name, wanted, expired)
  if not let_back(name, wanted) then
    return 0
  end
  local budget = budgets[name]
  local open, is_cut = 0, false
  while open < wanted and budget.left > 0 and not is_cut do
    local count = min(math.max(wanted - open, 64), budget.left)
    local front = call('ZRANGE', of(name, 'r'), open, open + count - 1, 'WITHSCORES')
    if not front[1] then
      break
    end
    local ids, aside, scores, places, gone = {}, {}, {}, {}, {}
    for i = 1, #front, 2 do
      ids[#ids + 1] = front[i]
    end
    for i, record in ipairs(call('HMGET', T, unpack(ids))) do
      if open == wanted or is_cut then
        break
      end
      budget.left = budget.left - 1
      local id, score, before = ids[i], front[2 * i], #expired
      local gate = record and ask(name, id, record, budget, expired)
      if #expired > before then
        gone[#gone + 1] = id
        is_cut = call('EXISTS', of(name, 'p')) == 1
      elseif gate then
        aside[#aside + 1] = id
        add_pair(scores, score, id)
        add_pair(places, 0, aside_place(gate, score, id))
      else
        open = open + 1
      end
    end
    spread('ZREM', of(name, 'r'), aside)
    spread('ZREM', of(name, 'r'), gone)
    spread('ZADD', of(name, 'p'), scores)
    if sized then
      note_out(name, gone)
      note_in(name, scores)
    end
    spread('ZADD', of(name, 'y'), places)
  end
  forget_if_done(name)
  return open
end

-- Writes the started tasks. The worker that claimed will be busy, so another one must know when a rate allows the next.
-- Wakes workers that take what the claim refused.
local function note_passed(name, started)
  local budget = budgets[name]
  spread('ZADD', of(name, 'h'), budget.held)
  for _, stand in pairs(stands) do
    if stand.is_marked and stand.name == name then
      call('ZADD', of(name, 't'), format('%.0f', stand.mark), stand.gate)
    end
  end
  if budget.sets_time and started > 0 then
    wake(name, 1)
  end
  for gate, tasks in pairs(budget.left_to_others) do
    call('SADD', P .. 'unknown', name)
    wake(name, tasks, nil, gate)
  end
end

-- When to repeat an empty claim for a queue's gates: now if it was cut short.
local function gates_due(name)
  if call('EXISTS', of(name, 'q'), of(name, 'r'), of(name, 'v'), of(name, 'k')) > 0 then
    return now
  end
  for _ = 1, MAX_GATES do
    local first = call('ZRANGE', of(name, 'e'), 0, 0, 'WITHSCORES')
    if not first[1] then
      return huge
    elseif is_awaited(name, first[1]) then
      return tonumber(first[2])
    end
    call('ZREM', of(name, 'e'), first[1])
  end
  return now
end

-- Tasks stopped running, and may be gone: their gates may let others pass.
local function note_ended(name, ids)
  local queue_rules, gone, freed = rules_of(name), {}, 0
  for first = 1, queue_rules and #ids or 0, 1000 do
    local some = { unpack(ids, first, min(first + 999, #ids)) }
    for i, record in ipairs(call('HMGET', T, unpack(some))) do
      for _, gate in ipairs(record and gates_of(queue_rules, record) or {}) do
        gone[#gone + 1] = gate .. NUL .. some[i]
        if is_awaited(name, gate) then
          call('ZADD', of(name, 'e'), NOW, gate)
          freed = freed + 1
        end
      end
    end
  end
  spread('ZREM', of(name, 'h'), gone)
  if freed > 0 then
    wake(name, freed)
  end
end
