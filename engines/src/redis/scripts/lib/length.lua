-- Whether queues that have a max_length have room for what is new in a group.

-- By queue: how many tasks wait in it, with what the groups before this one bring, and how many may; false: any number.
local lengths = {}

local function length_in(name)
  if lengths[name] == nil then
    local limits = limits_of(name)
    lengths[name] = limits and limits.length > 0
      and { call('ZCARD', of(name, 'r')) + call('ZCARD', of(name, 's')), limits.length }
  end
  return lengths[name]
end

-- Counts a group in and answers nil, or what stands against it. Where each task stands for itself, one that there is no
-- room for harms no other.
local function check_room(group)
  local change, refusal, is_each_for_itself = {}, nil, string.lower(group[1]) ~= group[1]
  for _, run in ipairs(group[2]) do
    local name = run[1]
    local length = length_in(name)
    for place = run[7], run[7] + run[6] - 1 do
      local letter, left, also = letters[place], nil, nil
      if left_by then
        left, also = left_by(place)
      elseif letter == 'r' then
        local status = status_of(ids[place], stored[place], call('HGET', M, ids[place]))
        left = (status == '1' or status == '2') and queue_of(stored[place])
      end
      local enters = letter ~= 'e' and letter ~= 'x' and letter ~= 'h'
      local needs_room = enters and left ~= name and also ~= name
      local is_full = needs_room and length and length[1] + (change[name] or 0) >= length[2]
      if is_full and is_each_for_itself then
        letters[place], stands[place] = 'x', { 'full', name, length[2], 'f' }
      elseif is_full then
        refusal = refusal or { 'full', name, length[2] }
      elseif enters then
        change[name] = (change[name] or 0) + 1
        if left then
          change[left] = (change[left] or 0) - 1
        end
        if also then
          change[also] = (change[also] or 0) - 1
        end
      end
    end
  end
  if refusal then
    return refusal
  end
  for name, by in pairs(change) do
    local length = length_in(name)
    if length then
      length[1] = length[1] + by
    end
  end
end
