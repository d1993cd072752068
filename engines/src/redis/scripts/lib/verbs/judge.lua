-- Judges submissions whose ids are taken.

-- A refusal of the task at a place: for the whole group, and for a task that is judged independently.
local function refuse(place, status, letter)
  return { 'conflict', place, status, letter, letter = letter, word = status }
end

-- The letter e, r or c for a task, or its refusal; `place` is its place in its group.
local function judge_against(mode, record, new_core, place)
  if sub(core_of(record), @core.fingerprint) == fingerprint_of(new_core) or mode == @conflict.skip then
    return @submitted.existing
  end
  local status = status_of(record)
  if mode == @conflict.fail then
    return nil, refuse(place, status, @submitted.body_differs)
  elseif status == @state.started then
    return nil, refuse(place, status, @submitted.started)
  end
  return @submitted.replaced
end

-- The same for the task at a place whose id is taken. A task that replaces one that is only remembered is new.
local function judge(mode, place, new_core, first)
  local letter, refusal = judge_against(mode, stored[place], new_core, place - first)
  if letter == @submitted.replaced and is_remembered[place] then
    stored[place], letter = false, @submitted.created
  end
  return letter, refusal
end

-- Gives the tasks of a group their letters; returns the group's refusal, if any. If tasks are judged independently, a
-- refused one does not affect the others.
local function judge_group(group)
  local first, mode = group.runs[1].place, string.lower(group.mode)
  local is_each_for_itself = mode ~= group.mode
  for _, run in ipairs(group.runs) do
    for place = run.place, run.place + run.count - 1 do
      if stored[place] then
        local refusal
        letters[place], refusal = judge(mode, place, ARGV[argument_of(run, place) + 1], first)
        if refusal and not is_each_for_itself then
          return refusal
        elseif refusal then
          letters[place], stands[place] = @submitted.refused, refusal
        end
      end
    end
  end
end

-- The tasks that new ones replace, by queue: ids that wait, and ids that are over.
local replaced = {}

local function note_replaced(id, record)
  local name = queue_of(record)
  replaced[name] = replaced[name] or { waiting = {}, over = {} }
  local gone = is_over(record) and replaced[name].over or replaced[name].waiting
  gone[#gone + 1] = id
end

-- For its successors, a replaced task is aborted.
local function note_replacement(gone, found)
  note_withdrawn(gone, found, @state.aborted, number_at(high, low, next_high, 0))
end

-- Deletes the replaced tasks, all of a queue together: its list of finished tasks is swept once.
local function remove_all_replaced()
  for name, gone in pairs(replaced) do
    remove(name, gone.waiting, false, note_replacement)
    remove(name, gone.over, true)
  end
  replaced = {}
end
