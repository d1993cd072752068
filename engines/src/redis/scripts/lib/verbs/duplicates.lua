-- Submissions whose unique keys are held. A call with such tasks has one group, whose tasks are judged, and then
-- written, one after the other, as if each came alone: the effect of one is visible to the next.

-- By place: the queues that tasks leave for that place, and these tasks.
local left = {}
-- The state after the tasks before. By key: the task that took it last, or false. By id: {status, queue} of the changed
-- tasks.
local takers, changed = {}, {}

local function taker_of(key)
  if takers[key] == nil then
    local id = call('HGET', HOLDERS, key)
    local entry, record = id and call('HGET', SAID, id), id and owned({ id }, { call('HGET', T, id) })[1]
    takers[key] = entry and record and { id = id, status = status_of(record), entry = entry, queue = queue_of(record) }
      or false
  end
  return takers[key]
end

local function leave(place, status, queue, id)
  if status < @state.started then
    left[place] = left[place] or {}
    table.insert(left[place], { queue = queue, id = id })
  end
end

-- A task is replaced by another with its id, and loses its key.
local function give_way(id, record, place)
  local at = changed[id] or { status = status_of(record), queue = queue_of(record) }
  leave(place, at.status, at.queue, id)
  local entry = call('HGET', SAID, id)
  local key = entry and key_in(said_in(entry))
  local taker = key and taker_of(key)
  if taker and taker.id == id then
    takers[key] = false
  end
end

-- Judges the task at a place by its key. Returns the letter of the action for the holder (t answer, p cancel, k
-- update), or nothing, and that holder; or the refusal of the task.
local function meet(id, new_core, rule, said, place)
  local taker = taker_of(key_in(said))
  if not taker then
    return nil
  elseif last_word(taker.entry) == fingerprint_of(new_core) .. id then
    return @duplicate.answer, taker
  elseif taker.id == id or not holds(taker.entry, taker.status) then
    return nil
  elseif rule == @duplicate.answer then
    return rule, taker
  elseif rule == @duplicate.reject or taker.status == @state.started then
    return nil, nil, { 'duplicate', place, taker.id, taker.status }
  elseif taker.status > @state.started then
    return nil
  end
  return rule, taker
end

local function plan(run, place, mode, first)
  local id, at = ids[place], argument_of(run, place)
  local core, argument = ARGV[at + 1], run.kind.is_unique and ARGV[at + run.stride - 1]
  if stored[place] then
    local letter, refusal = judge(mode, place, core, first)
    if refusal and changed[id] then
      refusal = refuse(place - first, changed[id].status, refusal.letter)
    end
    if letter ~= @submitted.replaced and letter ~= @submitted.created then
      letters[place] = letter
      return refusal
    end
  end
  local said = argument and sub(argument, @wish.rest.at)
  local status = due_of(run.start) > now and @state.scheduled or @state.submitted
  local does, taker, refusal
  if said then
    does, taker, refusal = meet(id, core, sub(argument, @wish.rule), said, place - first)
    if refusal then
      return refusal
    end
  end
  met[place] = taker and taker.id
  if does == @duplicate.answer then
    letters[place] = @submitted.held
    return nil
  elseif does == @duplicate.keep_last then
    letters[place] = @submitted.updated
    leave(place, taker.status, taker.queue, taker.id)
    local entry = sub(taker.entry, @kept.ends) .. said .. fingerprint_of(core) .. id
    takers[key_in(said)] = { id = taker.id, status = status, entry = entry, queue = run.queue }
    changed[taker.id] = { status = status, queue = run.queue }
    return nil
  end
  letters[place] = stored[place] and @submitted.replaced or @submitted.created
  if stored[place] then
    give_way(id, stored[place], place)
  end
  if does == @duplicate.replace then
    leave(place, taker.status, taker.queue, taker.id)
    changed[taker.id] = { status = @state.cancelled, queue = taker.queue }
  end
  changed[id] = { status = status, queue = run.queue }
  if said then
    takers[key_in(said)] = { id = id, status = status, entry = end_of(said) .. said, queue = run.queue }
  end
end

-- Plans a group; returns its refusal, if any.
local function plan_group(group)
  local first = group.runs[1].place
  for _, run in ipairs(group.runs) do
    for place = run.place, run.place + run.count - 1 do
      local refusal = plan(run, place, group.mode, first)
      if refusal then
        return refusal
      end
    end
  end
end

-- The queues that tasks leave for the one at a place, and these tasks.
local function leaving(place)
  local one, other = unpack(left[place] or {})
  return one and one.queue, other and other.queue, one and one.id, other and other.id
end

local function flush()
  spread('HSET', B, bodies)
  write_moves(true)
  bodies = {}
end

-- The numbers of those that are cancelled.
local cancels

local function next_cancel(place)
  cancels = cancels or { take_numbers(#ids) }
  local cancel_high, cancel_low, cancel_next = unpack(cancels)
  return number_at(cancel_high, cancel_low, cancel_next, place - 1)
end

local function take_one(run, place)
  local letter, id, at = letters[place], ids[place], argument_of(run, place)
  if letter == @submitted.existing or letter == @submitted.held then
    return
  end
  local new_core, said = ARGV[at + 1], run.kind.is_unique and sub(ARGV[at + run.stride - 1], @wish.rest.at)
  local revision = number_at(high, low, next_high, place - 1)
  local core, ends, word = STAMP .. new_core, said and end_of(said), ''
  if letter == @submitted.replaced or met[place] then
    flush()
  end
  if letter == @submitted.replaced then
    note_replaced(id, call('HGET', T, id))
    remove_all_replaced()
  end
  if letter == @submitted.updated then
    word, id = fingerprint_of(new_core) .. id, met[place]
    local before = core_of(call('HGET', T, id))
    core = sub(before, @core.submitted_at.at, @core.fingerprint.last) .. sub(core, @core.size.at, @core.priority.last)
      .. sub(before, @core.remember.at, @core.linked.last) .. sub(core, @core.tries.at)
    ends = sub(call('HGET', SAID, id), @kept.ends)
    remove(queue_in(before), { id }, false)
  elseif met[place] then
    local holder = call('HGET', T, met[place])
    withdraw(queue_of(holder), { met[place] }, { holder }, { next_cancel(place) })
  end
  if letter == @submitted.replaced then
    again.replaced[#again.replaced + 1] = id
  end
  if letter ~= @submitted.updated and has_tombstone[place] then
    again.stored[#again.stored + 1] = id
  end
  if run.kind.is_large then
    push(bodies, id, ARGV[at + 2])
  end
  local queue, due = gathered(run.queue), due_of(run.start)
  if due > now then
    push(records, id, history_of(@state.scheduled, revision, stamp_of(due)) .. core)
    push(queue.later, format('%.0f', due), id)
  else
    local state = letter == @submitted.updated and history_of(@state.submitted, revision, STAMP) or @state.fresh .. revision
    push(records, id, state .. core)
    if letter ~= @submitted.updated and has_lane(run) then
      push(queue.lane, revision .. id)
    else
      push(queue.ready, score_of(run.priority, revision), id)
    end
  end
  queue.counts.accepted = (queue.counts.accepted or 0) + 1
  if said then
    take_key(id, said, ends, word)
  end
end

-- Writes a planned group. Returns letters, E existing, U updated, R replaced, C created, and for each task the id,
-- queue and status of the task that is its answer.
local function take_group(group)
  are_signals_held = true
  for _, run in ipairs(group.runs) do
    for place = run.place, run.place + run.count - 1 do
      take_one(run, place)
    end
  end
  are_signals_held = false
  flush()
  local said, answer = {}, { '' }
  for place = 1, #ids do
    local letter, id = letters[place], ids[place]
    local is_held = letter == @submitted.held
    if is_held or letter == @submitted.updated then
      id = met[place]
    end
    local record = owned({ id }, { call('HGET', T, id) })[1] or stored[place]
    push(answer, id, queue_of(record))
    answer[#answer + 1] = status_of(record)
    local is_new = letter ~= @submitted.replaced and not met[place]
    said[place] = letter == @submitted.updated and @whole.updated or (letter == @submitted.existing or is_held) and @whole.existing
      or is_new and @whole.created or @whole.replaced
  end
  answer[1] = table.concat(said)
  return answer
end
