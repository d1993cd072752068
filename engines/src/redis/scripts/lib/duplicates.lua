-- What submissions do that meet the holders of their unique keys. A call with such tasks has one group, whose tasks are
-- judged, and then written, one after the other, as if each came alone: what one does, the next one meets.

local STARTED = '3'
-- By place: the queues that tasks leave there, and these tasks.
local left = {}
-- As all will stand when the tasks before are in. By key: who took it last, {id, status, entry, queue}, or false. By id:
-- {status, queue} of what they changed.
local takers, changed = {}, {}

local function taker_of(key)
  if takers[key] == nil then
    local id = call('HGET', HOLDERS, key)
    local entry, record = id and call('HGET', SAID, id), id and call('HGET', T, id)
    takers[key] = entry and record and { id, (standing(id, record, call('HGET', M, id))), entry, queue_of(record) } or false
  end
  return takers[key]
end

local function leave(place, status, queue, id)
  if tonumber(status) < 3 then
    left[place] = left[place] or {}
    table.insert(left[place], { queue, id })
  end
end

-- A task gives way to one of its id, and so does its key.
local function give_way(id, record, place)
  local at = changed[id] or { (standing(id, record, call('HGET', M, id))), queue_of(record) }
  leave(place, at[1], at[2], id)
  local entry = call('HGET', SAID, id)
  local key = entry and key_in(said_in(entry))
  local taker = key and taker_of(key)
  if taker and taker[1] == id then
    takers[key] = false
  end
end

-- Judges what stands at a place by its key. Answers the letter of what is done about its holder (t answer, p cancel, k
-- update), or nothing, and that holder; or what stands against the task.
local function meet(id, new_record, rule, said, place)
  local taker = taker_of(key_in(said))
  if not taker then
    return nil
  elseif last_word(taker[3]) == sub(new_record, 1, 16) .. id then
    return 't', taker
  elseif taker[1] == id or not holds(taker[3], taker[2]) then
    return nil
  elseif rule == 't' then
    return 't', taker
  elseif rule == 'j' or taker[2] == STARTED then
    return nil, nil, { 'duplicate', place, taker[1], taker[2] }
  elseif tonumber(taker[2]) > 3 then
    return nil
  end
  return rule, taker
end

local function plan(run, place, mode, first)
  local id, at = ids[place], run[5] + (place - run[7]) * run[4]
  local record, argument = ARGV[at + 1], run[8] and ARGV[at + run[4] - 1]
  if stored[place] then
    local letter, refusal = judge(mode, id, stored[place], record, place - first)
    if refusal and changed[id] then
      refusal[3] = changed[id][1]
    end
    if letter ~= 'r' then
      letters[place] = letter
      return refusal
    end
  end
  local said, status = argument and sub(argument, 2), due_of(run[3]) > now and SCHEDULED or SUBMITTED
  local does, taker, refusal
  if said then
    does, taker, refusal = meet(id, record, sub(argument, 1, 1), said, place - first)
    if refusal then
      return refusal
    end
  end
  met[place] = taker and taker[1]
  if does == 't' then
    letters[place] = 'h'
    return nil
  elseif does == 'k' then
    letters[place] = 'u'
    leave(place, taker[2], taker[4], taker[1])
    takers[key_in(said)] = { taker[1], status, sub(taker[3], 1, 16) .. said .. sub(record, 1, 16) .. id, run[1] }
    changed[taker[1]] = { status, run[1] }
    return nil
  end
  letters[place] = stored[place] and 'r' or 'c'
  if stored[place] then
    give_way(id, stored[place], place)
  end
  if does == 'p' then
    leave(place, taker[2], taker[4], taker[1])
    changed[taker[1]] = { CANCELLED, taker[4] }
  end
  changed[id] = { status, run[1] }
  if said then
    takers[key_in(said)] = { id, status, end_of(said) .. said, run[1] }
  end
end

-- Plans a group; answers what stands against it, if anything does.
local function plan_group(group)
  local first = group[2][1][7]
  for _, run in ipairs(group[2]) do
    for place = run[7], run[7] + run[6] - 1 do
      local refusal = plan(run, place, group[1], first)
      if refusal then
        return refusal
      end
    end
  end
end

-- The queues that tasks leave for the one at a place, and these tasks.
local function leaving(place)
  local one, other = unpack(left[place] or {})
  return one and one[1], other and other[1], one and one[2], other and other[2]
end

local function flush()
  spread('HSET', T, records)
  spread('HSET', B, bodies)
  write_moves(true)
  records, bodies = {}, {}
end

-- The numbers of those that are cancelled.
local cancels

local function take_one(run, place)
  local letter, id, at = letters[place], ids[place], run[5] + (place - run[7]) * run[4]
  if letter == 'e' or letter == 'h' then
    return
  end
  local new_record, said, revision = ARGV[at + 1], run[8] and sub(ARGV[at + run[4] - 1], 2), number_at(high, low, next_high, place - 1)
  local identity, ends, word = NOW .. sub(new_record, 1, 16), said and end_of(said), ''
  if letter == 'r' or met[place] then
    flush()
  end
  if letter == 'r' then
    note_replaced(id, call('HGET', T, id))
    remove_all_replaced()
  end
  if letter == 'u' then
    word, id = sub(new_record, 1, 16) .. id, met[place]
    local record = call('HGET', T, id)
    identity, ends = sub(record, 1, 32), sub(call('HGET', SAID, id), 1, 16)
    remove(queue_of(record), { id }, false)
  elseif met[place] then
    cancels = cancels or { take_numbers(#ids) }
    withdraw(met[place], call('HGET', T, met[place]), number_at(cancels[1], cancels[2], cancels[3], place - 1))
  end
  local queue, due = gathered(run[1]), due_of(run[3])
  push(records, id, identity .. sub(new_record, 17))
  if byte(new_record, 17) == 76 then
    push(bodies, id, ARGV[at + 2])
  end
  local due_at = due > now and format('%016.0f', due)
  if due_at then
    push(queue.later, due_at, id)
  else
    push(queue.ready, score_of(run[2], revision), id)
  end
  if due_at or letter == 'u' then
    push(carries, id, revision .. (due_at or NOW) .. '000000000' .. NO_TIME .. run[2])
  end
  queue.counts.accepted = (queue.counts.accepted or 0) + 1
  if said then
    take_key(id, said, ends, word)
  end
end

-- Takes a group in that was planned. Answers letters, E existing, U updated, R replaced, C created, and for each task the
-- id, queue and status of the one it is answered with.
local function take_group(group)
  for _, run in ipairs(group[2]) do
    for place = run[7], run[7] + run[6] - 1 do
      take_one(run, place)
    end
  end
  flush()
  local said, answer = {}, { '' }
  for place = 1, #ids do
    local letter, id = letters[place], ids[place]
    if letter == 'h' or letter == 'u' then
      id = met[place]
    end
    local record = call('HGET', T, id)
    push(answer, id, queue_of(record))
    answer[#answer + 1] = standing(id, record, call('HGET', M, id))
    said[place] = letter == 'u' and 'U' or (letter == 'e' or letter == 'h') and 'E' or (letter == 'r' or met[place]) and 'R'
      or 'C'
  end
  answer[1] = table.concat(said)
  return answer
end
