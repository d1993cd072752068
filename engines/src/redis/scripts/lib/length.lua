-- Whether queues that limit what they take in have room for what is new in a group: by a max_length, or by a rate.

-- By queue: how many tasks wait in it, with what the groups before this one bring, and how many may; and where its rate
-- of submissions stands: `left` may go in, `taken` go in. Each nil where there is no such limit.
local gates = {}

local function gate_of(name)
  if not gates[name] then
    local limits = limits_of(name)
    local gate = { name = name }
    gates[name] = gate
    if limits and limits.length > 0 then
      gate.length = call('ZCARD', of(name, 'r')) + call('ZCARD', of(name, 'p')) + call('ZCARD', of(name, 's'))
      gate.most = limits.length
    end
    local tasks, period, burst = string.match(limits and limits.intake or '', '^ (%d+) (%d+) (%d+)')
    if tasks and tasks ~= '0' then
      gate.rate = { tasks = tonumber(tasks), period = tonumber(period), burst = tonumber(burst) }
      gate.left, gate.taken = take_stand(gate.rate, call('GET', of(name, 'i'))), 0
    end
  end
  return gates[name]
end

-- What stands against `count` more tasks by the rate of a queue, of which `before` have gone in.
local function refused_by_rate(gate, count, before)
  local rate = gate.rate
  if not rate or count + before <= gate.left then
    return nil
  elseif count > rate.burst then
    return { 'burst', gate.name, count, rate.burst }
  end
  local lacking = rate.debt + (count + before - rate.burst) * rate.period
  return { 'rate', gate.name, format('%.0f', math.max(divide(lacking + rate.tasks - 1, rate.tasks), 0)) }
end

-- The queues that a task leaves for the one at a place.
local function left_for(place)
  if left_by then
    return left_by(place)
  elseif letters[place] ~= 'r' then
    return nil
  end
  local status = status_of(ids[place], stored[place], call('HGET', M, ids[place]))
  return (status == '1' or status == '2') and queue_of(stored[place])
end

-- Counts a group in and answers nil, or what stands against it. Where each task stands for itself, one that there is no
-- room for harms no other.
local function check_room(group)
  local change, entered, in_need, order, refusal = {}, {}, {}, {}, nil
  local is_each_for_itself = string.lower(group[1]) ~= group[1]
  for _, run in ipairs(group[2]) do
    local name = run[1]
    local gate = gate_of(name)
    for place = run[7], run[7] + run[6] - 1 do
      local letter = letters[place]
      local left, also = left_for(place)
      local enters = letter ~= 'e' and letter ~= 'x' and letter ~= 'h'
      local needs_room = enters and left ~= name and also ~= name
      if needs_room and gate.length then
        in_need[name] = (in_need[name] or 0) + 1
      end
      local is_full = needs_room and gate.length and gate.length + (change[name] or 0) >= gate.most
      local refused = is_full and { 'full', name, gate.most, 'f' }
      if is_each_for_itself and enters and not refused then
        refused = refused_by_rate(gate, 1, gate.taken and gate.taken + (entered[name] or 0))
        if refused then
          refused[4] = 'q'
        end
      end
      if refused and is_each_for_itself then
        letters[place], stands[place] = 'x', refused
      elseif refused then
        refusal = refusal or { refused[1], refused[2], refused[3] }
      elseif enters then
        change[name] = (change[name] or 0) + 1
        if not entered[name] then
          order[#order + 1] = name
        end
        entered[name] = (entered[name] or 0) + 1
        if left then
          change[left] = (change[left] or 0) - 1
        end
        if also then
          change[also] = (change[also] or 0) - 1
        end
      end
    end
  end
  if refusal and refusal[1] == 'full' and in_need[refusal[2]] > refusal[3] then
    return { 'length', refusal[2], in_need[refusal[2]], refusal[3] }
  end
  for _, name in ipairs(order) do
    local gate = gate_of(name)
    refusal = refusal or not is_each_for_itself and refused_by_rate(gate, entered[name], gate.taken)
  end
  if refusal then
    return refusal
  end
  for name, by in pairs(change) do
    local gate = gate_of(name)
    gate.length = gate.length and gate.length + by
  end
  for name, count in pairs(entered) do
    local gate = gate_of(name)
    gate.taken = gate.taken and gate.taken + count
  end
end

-- Notes what goes in.
local function note_entered()
  for name, gate in pairs(gates) do
    local rate = gate.rate
    if rate and gate.taken > 0 then
      call('SET', of(name, 'i'), format('%.0f', rate.mark + divide(gate.taken * rate.period, rate.tasks)))
    end
  end
end
