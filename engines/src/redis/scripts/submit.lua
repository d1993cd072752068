#!lua
-- Takes groups of tasks in, each group wholly or not at all and none of the others' business; or, of a group whose tasks
-- come from as many callers, each task for itself. Nothing is written before all groups are judged. Without `allow-oom`:
-- a full server refuses before the first write.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 how many groups; for each: what to do about ids that are taken
-- (f fail, s skip, r replace; F, S, R where each task stands for itself), how many runs; for each run of tasks that are
-- alike: queue, priority, start (nothing: now, a<microseconds> after now, t<microseconds> at), 1 if their parameters lie
-- apart, u if they have unique keys, v for both, how many; for each task: id, record without its submitted_at, its
-- parameters if they lie apart, and if it has a unique key what is done about who holds it (j refuse, t answer with it, p
-- replace, k keep the last) and what it says of it (see unique.lua). No id stands twice; at most 1,000 tasks in all; a
-- group with unique keys comes alone.
-- Answers for each group 1 (all are created and ready), {'queue', name} (unknown), {'conflict', place, status, b|s} (the
-- body differs, or it has started), {'duplicate', place, id and status of who holds the key}, {'full', queue,
-- max_length}, {'heavy', queue, max_bytes}, {'rate', queue, microseconds until it may go in}, {'burst', queue, how many,
-- how many it takes at once}, {'length', queue, how many, max_length} (more than ever fit), for a group with unique keys
-- what duplicates.lua says, or {letters, queue and status of each existing one, …}, a letter
-- for each task: c created and ready, d created and scheduled, r, p replaced likewise, e existing; where each stands for
-- itself also b, s, f, g, q: it is in conflict, its queue is full, of tasks or bytes, or takes no more in for now, and
-- instead of queue and status there is just the status of the one that stands in its way, max_length, max_bytes, or the
-- microseconds.

-- include base numbers wake moves

-- How many arguments a task has, by what its run says of it.
local STRIDES, is_any_unique = { [''] = 2, ['1'] = 3, u = 3, v = 4 }, false

-- The groups as they came: {mode, runs}; a run is {queue, priority, start, stride, first argument, count, first place,
-- whether its tasks have unique keys}.
local function read_groups()
  local groups, ids, at = {}, {}, 3
  for g = 1, tonumber(ARGV[2]) do
    local runs, count = {}, tonumber(ARGV[at + 1])
    groups[g] = { ARGV[at], runs }
    at = at + 2
    for r = 1, count do
      local kind, tasks, first = ARGV[at + 3], tonumber(ARGV[at + 4]), #ids
      local stride, is_unique = STRIDES[kind], kind == 'u' or kind == 'v'
      runs[r] = { ARGV[at], ARGV[at + 1], ARGV[at + 2], stride, at + 5, tasks, first + 1, is_unique }
      is_any_unique = is_any_unique or is_unique
      at = at + 5
      for i = 1, tasks do
        ids[first + i] = ARGV[at]
        at = at + stride
      end
    end
  end
  return groups, ids
end

local groups, ids = read_groups()
local stored, is_any_stored = call('HMGET', T, unpack(ids)), false
for i = 1, #ids do
  is_any_stored = is_any_stored or stored[i]
end

-- What stands against a group, and by their place in `ids` what becomes of tasks whose id is taken: letter e or r, or x
-- for one that is refused for itself, and what stands against that one.
local refusals, letters, stands = {}, {}, {}

local known_queues = {}
for g, group in ipairs(groups) do
  for _, run in ipairs(group[2]) do
    local name = run[1]
    if known_queues[name] == nil then
      known_queues[name] = call('SISMEMBER', P .. 'queues', name) == 1
    end
    if not known_queues[name] and not refusals[g] then
      refusals[g] = { 'queue', name }
    end
  end
end

-- In the year 2255: times are exact, and have 16 digits, up to here.
local END_OF_TIME = 9e15

local function due_of(start)
  if start == '' then
    return now
  elseif byte(start) == 97 then
    return min(now + sub(start, 2), END_OF_TIME)
  end
  return min(math.max(tonumber(sub(start, 2)), now), END_OF_TIME)
end

local records, bodies = {}, {}
local high, low, next_high = take_numbers(#ids)
local status_of, take_replaced, remove_replaced, left_by, take_unique, is_any_refused
-- By place: the task that is answered, updated or cancelled there.
local met = {}
if is_any_unique then
  -- include view over unique aside remove judge withdraw duplicates
  refusals[1] = refusals[1] or plan_group(groups[1])
  left_by, take_unique = leaving, take_group
elseif is_any_stored then
  -- include view over unique aside remove judge
  for g, group in ipairs(groups) do
    refusals[g] = refusals[g] or judge_group(group)
  end
  status_of, take_replaced, remove_replaced = standing, note_replaced, remove_all_replaced
end

if limited then
  -- include limits length
  for g, group in ipairs(groups) do
    refusals[g] = refusals[g] or check_room(group)
  end
  is_any_refused = next(stands) ~= nil
  note_entered()
end

-- Takes a run's tasks in; answers whether they are scheduled.
local function take_run(run)
  local queue, due, priority, stride = gathered(run[1]), due_of(run[3]), run[2], run[4]
  local ready, due_at = queue.ready, due > now and format('%016.0f', due)
  -- Where the lists end is counted along, for it is not known without a search.
  local record_end, ready_end, taken = #records, #ready, 0
  for place = run[7], run[7] + run[6] - 1 do
    local letter = letters[place]
    if letter ~= 'e' and letter ~= 'x' then
      local id, argument = ids[place], run[5] + (place - run[7]) * stride
      if letter == 'r' then
        take_replaced(id, stored[place])
      end
      local leading, number = high, low + place - 1
      if number >= 1000 then
        leading, number = next_high, number - 1000
      end
      local rest = number % 100
      local position = leading .. ONE[(number - rest) / 100 + 1] .. TWO[rest + 1]
      records[record_end + 1], records[record_end + 2] = id, NOW .. ARGV[argument + 1]
      record_end, taken = record_end + 2, taken + 1
      if stride == 3 then
        push(bodies, id, ARGV[argument + 2])
      end
      if due_at then
        push(queue.later, due_at, id)
        push(carries, id, position .. due_at .. '000000000' .. NO_TIME .. priority)
      else
        ready[ready_end + 1], ready[ready_end + 2] = priority == '5' and position or score_of(priority, position), id
        ready_end = ready_end + 2
      end
    end
  end
  queue.counts.accepted = (queue.counts.accepted or 0) + taken
  return due_at and true
end

-- A letter for each task of a run, and for existing ones their queue and status.
local function tell_run(run, scheduled, said, existing)
  for place = run[7], run[7] + run[6] - 1 do
    local letter = letters[place]
    if letter == 'e' then
      local status = status_of(ids[place], stored[place], call('HGET', M, ids[place]))
      push(existing, queue_of(stored[place]), status)
    elseif letter == 'x' then
      letter = stands[place][4]
      existing[#existing + 1] = stands[place][3]
    elseif letter == 'r' then
      letter = scheduled and 'p' or 'r'
    else
      letter = scheduled and 'd' or 'c'
    end
    said[#said + 1] = letter
  end
end

local answers = {}
for g, group in ipairs(groups) do
  local said, existing, is_plain = {}, {}, not is_any_stored and not is_any_refused
  if take_unique and not refusals[g] then
    refusals[g] = take_unique(group)
  elseif not refusals[g] then
    for _, run in ipairs(group[2]) do
      is_plain = is_plain and due_of(run[3]) == now
    end
    for _, run in ipairs(group[2]) do
      local scheduled = take_run(run)
      if not is_plain then
        tell_run(run, scheduled, said, existing)
      end
    end
  end
  answers[g] = refusals[g] or is_plain and 1 or { table.concat(said), unpack(existing) }
end
if remove_replaced then
  remove_replaced()
end
spread('HSET', T, records)
spread('HSET', B, bodies)
write_moves(true)
return answers
