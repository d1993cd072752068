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

-- What new tasks take the place of, by queue: ids that wait, and ids that are over.
local replaced = {}

local function note_replaced(id, record)
  local name, state = queue_of(record), call('HGET', M, id)
  replaced[name] = replaced[name] or { waiting = {}, over = {} }
  local ids = state and byte(state) == 70 and replaced[name].over or replaced[name].waiting
  ids[#ids + 1] = id
end

-- Deletes it, all of a queue together: its list of finished tasks is swept once.
local function remove_all_replaced()
  for name, ids in pairs(replaced) do
    remove(name, ids.waiting, false)
    remove(name, ids.over, true)
  end
  replaced = {}
end
