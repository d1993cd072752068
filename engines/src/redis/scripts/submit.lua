#!lua
-- Takes groups of tasks in, each group wholly or not at all and none of the others' business. Nothing is written before
-- all groups are judged. Without `allow-oom`: a full server refuses before the first write.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 how many groups; for each: what to do about ids that are taken
-- (f fail, s skip, r replace), how many runs; for each run of tasks that are alike: queue, priority, start (nothing: now,
-- a<microseconds> after now, t<microseconds> at), 1 if their parameters lie apart, how many; for each task: id, record
-- without its submitted_at, and its parameters if they lie apart. No id stands twice; at most 1,000 tasks in all.
-- Answers for each group 1 (all are created and ready), {'queue', name} (unknown), {'conflict', place, status, b|s} (the
-- body differs, or it has started), or {letters, queue and status of each existing one, …}, a letter for each task:
-- c created and ready, d created and scheduled, r, p replaced likewise, e existing.

-- include base wake moves view remove

-- The groups as they came: {mode, runs}; a run is {queue, priority, start, stride, first argument, count, first place}.
local function read_groups()
  local groups, ids, at = {}, {}, 3
  for g = 1, tonumber(ARGV[2]) do
    local group = { ARGV[at], {} }
    local runs = tonumber(ARGV[at + 1])
    at = at + 2
    for r = 1, runs do
      local stride, count = ARGV[at + 3] == '1' and 3 or 2, tonumber(ARGV[at + 4])
      group[2][r] = { ARGV[at], ARGV[at + 1], ARGV[at + 2], stride, at + 5, count, #ids + 1 }
      at = at + 5
      for _ = 1, count do
        ids[#ids + 1] = ARGV[at]
        at = at + stride
      end
    end
    groups[g] = group
  end
  return groups, ids
end

local groups, ids = read_groups()
local stored = call('HMGET', T, unpack(ids))

local known_queues = {}
local function is_known(name)
  if known_queues[name] == nil then
    known_queues[name] = call('SISMEMBER', P .. 'queues', name) == 1
  end
  return known_queues[name]
end

-- What is to become of a task whose id is taken: letter e or r, or a conflict.
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

-- Letters for the tasks of a group whose ids are taken, by their place in `ids`; or what stands against it.
local function judge_group(group)
  for _, run in ipairs(group[2]) do
    if not is_known(run[1]) then
      return nil, { 'queue', run[1] }
    end
  end
  local first_of_group = group[2][1][7]
  local letters
  for _, run in ipairs(group[2]) do
    for i = 0, run[6] - 1 do
      local place = run[7] + i
      if stored[place] then
        local new_record = ARGV[run[5] + i * run[4] + 1]
        local letter, refusal = judge(group[1], ids[place], stored[place], new_record, place - first_of_group)
        if refusal then
          return nil, refusal
        end
        letters = letters or {}
        letters[place] = letter
      end
    end
  end
  return letters or {}, nil, letters == nil
end

local verdicts, refusals, plain = {}, {}, {}
for g, group in ipairs(groups) do
  verdicts[g], refusals[g], plain[g] = judge_group(group)
end

local batch = next_batch()
local records, bodies = {}, {}

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

local function take_replaced(id, record)
  local state = call('HGET', M, id)
  remove(queue_of(record), { id }, state and byte(state) == 70)
end

-- Writes a run's tasks; answers whether they are scheduled.
local function take_run(run, letters)
  local name, priority, stride = run[1], run[2], run[4]
  local due, queue, taken = due_of(run[3]), gathered(run[1]), 0
  local due_at = format('%016.0f', due)
  for i = 0, run[6] - 1 do
    local place, argument = run[7] + i, run[5] + i * stride
    local id, letter = ids[place], letters[place]
    if letter ~= 'e' then
      if letter == 'r' then
        take_replaced(id, stored[place])
      end
      taken = taken + 1
      push(records, id, NOW .. ARGV[argument + 1])
      if stride == 3 then
        push(bodies, id, ARGV[argument + 2])
      end
      local index = format('%03d', place - 1)
      if due > now then
        push(queue.later, due_at, id)
        push(carries, id, batch .. index .. due_at .. '000000000' .. NO_TIME .. priority)
      else
        push(queue.ready, score_of(priority, batch, index), id)
      end
    end
  end
  queue.counts.accepted = (queue.counts.accepted or 0) + taken
  return due > now
end

local answers = {}
for g, group in ipairs(groups) do
  local letters = verdicts[g]
  if letters then
    local said, existing, all_ready = {}, {}, plain[g]
    for _, run in ipairs(group[2]) do
      local scheduled = take_run(run, letters)
      all_ready = all_ready and not scheduled
      for place = run[7], run[7] + run[6] - 1 do
        local letter = letters[place]
        if letter == 'e' then
          push(existing, queue_of(stored[place]), (standing(ids[place], stored[place], call('HGET', M, ids[place]))))
        end
        said[#said + 1] = letter == 'r' and (scheduled and 'p' or 'r') or letter or (scheduled and 'd' or 'c')
      end
    end
    answers[g] = all_ready and 1 or { table.concat(said), unpack(existing) }
  else
    answers[g] = refusals[g]
  end
end
spread('HSET', T, records)
spread('HSET', B, bodies)
write_moves(true)
return answers
