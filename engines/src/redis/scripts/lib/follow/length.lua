-- Checks whether queues with limits on submissions have room for the new tasks of a group: max_length, max_bytes, or a
-- rate.

-- By queue: how many tasks wait in it, including those of the groups before this one, and how many may; and the state
-- of its rate of submissions: `left` may enter, `taken` do enter. Each nil without such a limit.
local gates = {}
-- By queue its limits, as written, and how many bytes may wait in it; false for none.
local limits_of, most_bytes_of = {}, {}
for i, words in ipairs(call('HMGET', P .. 'limits', unpack(named))) do
  limits_of[named[i]] = words
end
for i, bytes in ipairs(sized and call('HMGET', P .. 'sizes', unpack(named)) or {}) do
  most_bytes_of[named[i]] = bytes
end

local function gate_of(name)
  if not gates[name] then
    local limits = read_limits(limits_of[name])
    local gate = { name = name }
    gates[name] = gate
    if limits and limits.length > 0 then
      gate.length = count_waiting(name)
      gate.most = limits.length
    end
    if most_bytes_of[name] then
      gate.bytes = tonumber(call('HGET', P .. 'sized', name) or 0)
      gate.most_bytes = tonumber(most_bytes_of[name])
    end
    local tasks, period, burst = string.match(limits and limits.intake or '', '^ (%d+) (%d+) (%d+)')
    if tasks and tasks ~= '0' then
      gate.rate = { tasks = tonumber(tasks), period = tonumber(period), burst = tonumber(burst) }
      gate.left, gate.taken = take_stand(gate.rate, call('GET', of(name, 'i'))), 0
    end
  end
  return gates[name]
end

has_limits = function(name)
  return limits_of[name] or most_bytes_of[name]
end

-- A refusal: for the whole group, and for a task that is judged independently.
local function refuse_room(why, name, word, letter)
  return { why, name, word, letter = letter, word = word, queue = name }
end

-- The refusal of `count` more tasks by the rate of a queue, after `before` have entered.
local function refused_by_rate(gate, count, before)
  local rate = gate.rate
  if not rate or count + before <= gate.left then
    return nil
  elseif count > rate.burst then
    return { 'burst', gate.name, count, rate.burst }
  end
  local lacking = rate.debt + (count + before - rate.burst) * rate.period
  local wait = format('%.0f', math.max(divide(lacking + rate.tasks - 1, rate.tasks), 0))
  return refuse_room('rate', gate.name, wait, @submitted.rate)
end

-- The queues that tasks leave for the one at a place, and these tasks.
local function left_for(place)
  if left_by then
    return left_by(place)
  elseif letters[place] ~= @submitted.replaced then
    return nil
  end
  local is_waiting = status_of(stored[place]) < @state.started
  return is_waiting and queue_of(stored[place]), nil, ids[place]
end

-- The bytes of the tasks that this call accepts, by id: they are not noted yet.
local weights = {}

local function weight_of(name, id)
  return id and (weights[id] or tonumber(call('HGET', of(name, 'z'), id) or 0)) or 0
end

-- By how many bytes the queue of a run grows with the task at a place; and the bytes of the task.
local function growth_at(run, place, left, also, left_id, also_id)
  local argument = argument_of(run, place)
  local bytes = run.kind.is_large and #ARGV[argument + 2] or bytes_in(NO_STAMP .. ARGV[argument + 1], 0)
  local grows = bytes
  if left == run.queue then
    grows = grows - weight_of(left, left_id)
  end
  if also == run.queue then
    grows = grows - weight_of(also, also_id)
  end
  return grows, bytes
end

-- The changes of a group in a queue, by its name: by how many tasks and bytes it grows, how many tasks enter it, and
-- how many of them need room.
local TALLIES = {
  __index = function(tallies, name)
    local tally = { gate = gate_of(name), change = 0, growth = 0, entered = 0, in_need = 0 }
    tallies[name] = tally
    return tally
  end,
}

-- Counts the growth of a task's queue, and the bytes of tasks that left other queues for it.
local function note_weight(tallies, name, grows, left, also, left_id, also_id)
  tallies[name].growth = tallies[name].growth + grows
  if left and left ~= name then
    tallies[left].growth = tallies[left].growth - weight_of(left, left_id)
  end
  if also and also ~= name then
    tallies[also].growth = tallies[also].growth - weight_of(also, also_id)
  end
  if left_id then
    weights[left_id] = 0
  end
  if also_id then
    weights[also_id] = 0
  end
end

-- The id of the task at a place after the call: that of the one it becomes, or its own.
local function id_at(place)
  return letters[place] == @submitted.updated and met[place] or ids[place]
end

-- Counts the task at a place and returns nil, or its refusal.
local function check_task(tallies, tally, run, place, is_for_itself)
  local name, gate, left, also, left_id, also_id = run.queue, tally.gate, left_for(place)
  local refused, grows, bytes
  if gate.length and left ~= name and also ~= name then
    tally.in_need = tally.in_need + 1
    refused = gate.length + tally.change >= gate.most and refuse_room('full', name, gate.most, @submitted.full)
  end
  if sized then
    grows, bytes = growth_at(run, place, left, also, left_id, also_id)
    local is_over = gate.bytes and grows > 0 and gate.bytes + tally.growth + grows > gate.most_bytes
    refused = refused or is_over and refuse_room('heavy', name, gate.most_bytes, @submitted.heavy)
  end
  if is_for_itself and gate.rate and not refused then
    refused = refused_by_rate(gate, 1, gate.taken + tally.entered)
  end
  if refused then
    return refused
  end
  tally.change, tally.entered = tally.change + 1, tally.entered + 1
  if grows then
    note_weight(tallies, name, grows, left, also, left_id, also_id)
    weights[id_at(place)] = bytes
  end
  if left then
    tallies[left].change = tallies[left].change - 1
  end
  if also then
    tallies[also].change = tallies[also].change - 1
  end
end

-- Counts a group and returns nil, or its refusal. If tasks are judged independently, a task without room does not
-- affect the others.
local function check_room(group)
  local tallies, order, refusal = setmetatable({}, TALLIES), {}, nil
  local is_each_for_itself = string.lower(group.mode) ~= group.mode
  for _, run in ipairs(group.runs) do
    local tally = tallies[run.queue]
    if not tally.is_in_order then
      order[#order + 1], tally.is_in_order = tally, true
    end
    for place = run.place, run.place + run.count - 1 do
      local letter = letters[place]
      local enters = letter ~= @submitted.existing and letter ~= @submitted.refused and letter ~= @submitted.held
      local refused = enters and check_task(tallies, tally, run, place, is_each_for_itself)
      if refused and is_each_for_itself then
        letters[place], stands[place] = @submitted.refused, refused
      end
      refusal = refusal or not is_each_for_itself and refused or nil
    end
  end
  if refusal and refusal.letter == @submitted.full and tallies[refusal.queue].in_need > refusal.word then
    return { 'length', refusal.queue, tallies[refusal.queue].in_need, refusal.word }
  end
  for _, tally in ipairs(is_each_for_itself and {} or order) do
    refusal = refusal or refused_by_rate(tally.gate, tally.entered, tally.gate.taken)
  end
  if refusal then
    return refusal
  end
  for _, tally in pairs(tallies) do
    local gate = tally.gate
    gate.length = gate.length and gate.length + tally.change
    gate.bytes = gate.bytes and gate.bytes + tally.growth
    gate.taken = gate.taken and gate.taken + tally.entered
  end
end

-- Notes the accepted tasks.
local function note_entered()
  for name, gate in pairs(gates) do
    local rate = gate.rate
    if rate and gate.taken > 0 then
      call('SET', of(name, 'i'), format('%.0f', rate.mark + divide(gate.taken * rate.period, rate.tasks)))
    end
  end
end
