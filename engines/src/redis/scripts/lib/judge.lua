-- What becomes of submissions whose ids are taken.

-- Letter e or r for a task, or what stands against it; `place` is its place in its group.
local function judge(mode, id, record, new_record, place)
  if sub(record, 17, 32) == sub(new_record, 1, 16) or mode == 's' then
    return 'e'
  end
  local status = standing(id, record, call('HGET', M, id))
  if mode == 'f' then
    return nil, { 'conflict', place, status, 'b' }
  elseif status == '3' then
    return nil, { 'conflict', place, status, 's' }
  end
  return 'r'
end

-- Gives the tasks of a group their letters; answers what stands against it, if anything does. Where each task stands for
-- itself, a refused one harms no other.
local function judge_group(group)
  local first, mode = group[2][1][7], string.lower(group[1])
  local is_each_for_itself = mode ~= group[1]
  for _, run in ipairs(group[2]) do
    for place = run[7], run[7] + run[6] - 1 do
      if stored[place] then
        local new_record, refusal = ARGV[run[5] + (place - run[7]) * run[4] + 1], nil
        letters[place], refusal = judge(mode, ids[place], stored[place], new_record, place - first)
        if refusal and not is_each_for_itself then
          return refusal
        elseif refusal then
          letters[place], stands[place] = 'x', refusal
        end
      end
    end
  end
end

-- Deletes what a new task takes the place of.
local function remove_stored(id, record)
  local state = call('HGET', M, id)
  remove(queue_of(record), { id }, state and byte(state) == 70)
end
