#!lua
-- Accepts groups of tasks, each group entirely or not at all, and independently of the others; or, for a group whose tasks
-- come from as many callers, each task independently. Nothing is written before all groups are judged. Without `allow-oom`:
-- a full server refuses before the first write.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 how many groups; for each: what to do about ids that are taken
-- (f fail, s skip, r replace; F, S, R if each task is independent), how many runs; for each run of tasks that are
-- alike: queue, priority, start (nothing: now, a<microseconds> after now, t<microseconds> at), l if their parameters are
-- separate and u if they have unique keys and d if they depend on others or on signals and s if on signals and w if their
-- edges are stored in pieces by later steps and c if clients chose their ids, how many;
-- for each task: id, core without its submitted_at, its
-- parameters if they are separate, and if it has a unique key the action if it is held (j refuse, t answer with the
-- holder, p
-- replace, k keep the last) and its uniqueness constraint (see unique.lua); if it has s, each signal from outside as an
-- `awaited`, with a zero byte behind it; if it has d, the policy and id of each task that it depends on,
-- with a zero byte between them; if it has w, these as `pieces`. No id occurs twice; at most 1,000 tasks in all; a group with unique keys or dependencies
-- comes alone.
-- Returns for each group 1 (all are created and ready), {'queue', name} (unknown), {'conflict', place, status, b|s} (the
-- body differs, or it has started), {'predecessor', place, id} (it waits for an unknown task), {'duplicate', place,
-- id and status of who holds the key}, {'full', queue,
-- max_length}, {'heavy', queue, max_bytes}, {'rate', queue, microseconds until it may go in}, {'burst', queue, how many,
-- how many it takes at once}, {'length', queue, how many, max_length} (more than ever fit), for a group with unique keys
-- what duplicates.lua says, for one with dependencies C, R and E and the id, queue and status of each task, or
-- {letters, queue and status of each existing one, …}, a letter
-- for each task: c created and ready, d created and scheduled, r, p replaced likewise, e existing; if each is
-- independent also b, s, f, g, q: it is in conflict, its queue is full, of tasks or bytes, or accepts no more for now, and
-- instead of queue and status there is only the status of the conflicting task, max_length, max_bytes, or the
-- microseconds.

-- One run of small tasks of the default priority that are ready at once, without unique keys, in a store without
-- limits: most calls are of this kind. Nothing is written here before success is certain.
if ARGV[2] == '1' and ARGV[4] == '1' and ARGV[6] == '5' and ARGV[7] == '' and (ARGV[8] == '' or ARGV[8] == 'c') then
  -- include plain
end

-- include base numbers wake ends owned

local is_any_unique, is_any_chosen, is_any_linked = false, false, false

-- The traits in the letters of a run, and how many arguments each task takes; computed once for all similar runs.
local traits = {}

local function traits_of(letters)
  local is_large = string.find(letters, 'l', 1, true) ~= nil
  local is_unique = string.find(letters, 'u', 1, true) ~= nil
  local is_linked = string.find(letters, 'd', 1, true) ~= nil
  local is_chosen = string.find(letters, 'c', 1, true) ~= nil
  local is_signalled = is_linked and string.find(letters, 's', 1, true) ~= nil
  local is_pieced = is_linked and string.find(letters, 'w', 1, true) ~= nil
  is_any_unique, is_any_chosen = is_any_unique or is_unique, is_any_chosen or is_chosen
  is_any_linked = is_any_linked or is_linked
  traits[letters] = { is_large = is_large, is_unique = is_unique, is_linked = is_linked, is_chosen = is_chosen,
    is_signalled = is_signalled, is_pieced = is_pieced, stride = 2 + (is_large and 1 or 0) + (is_unique and 1 or 0) + (is_signalled and 1 or 0)
      + (is_linked and 1 or 0) }
  return traits[letters]
end

-- The groups as they came; for a run's tasks the `first` argument, the `stride` to the next one's, and the place in
-- `ids`.
local function read_groups()
  local groups, ids, at = {}, {}, 3
  for g = 1, tonumber(ARGV[2]) do
    local runs, count = {}, tonumber(ARGV[at + 1])
    groups[g] = { mode = ARGV[at], runs = runs }
    at = at + 2
    for r = 1, count do
      local kind, tasks, first = traits[ARGV[at + 3]] or traits_of(ARGV[at + 3]), tonumber(ARGV[at + 4]), #ids
      runs[r] = { queue = ARGV[at], priority = ARGV[at + 1], start = ARGV[at + 2], kind = kind, stride = kind.stride,
        first = at + 5, count = tasks, place = first + 1 }
      at = at + 5
      for i = 1, tasks do
        ids[first + i] = ARGV[at]
        at = at + kind.stride
      end
    end
  end
  return groups, ids
end

-- The first argument of the task at a place.
local function argument_of(run, place)
  return run.first + (place - run.place) * run.stride
end

-- The fingerprint of a core that comes without its submitted_at.
local function fingerprint_of(new_core)
  return sub(new_core, @core.fingerprint.at - @core.submitted_at.last, @core.fingerprint.last - @core.submitted_at.last)
end

local groups, ids = read_groups()
local stored, is_any_stored = call('HMGET', T, unpack(ids)), false
-- By place: whether an id has a tombstone, and whether no task of it is stored (see remembered.lua). Ids stored
-- again, and those of which another task was stored.
local has_tombstone, is_remembered, again = {}, {}, { stored = {}, replaced = {} }
if is_any_chosen then
  -- include remembered
end
for i = 1, #ids do
  is_any_stored = is_any_stored or stored[i]
end
if is_any_stored then
  stored = owned(ids, stored)
end

-- Refusals per group; by place in `ids`, the action for tasks whose id is taken: letter e or r, or x for one that is
-- refused independently, and the refusal of that one.
local refusals, letters, stands = {}, {}, {}

local named = {}
do
  local asked = 0
  for _, group in ipairs(groups) do
    for _, run in ipairs(group.runs) do
      named[#named + 1] = run.queue
    end
  end
  local known = call('ZMSCORE', P .. 'queues', unpack(named))
  for g, group in ipairs(groups) do
    for _, run in ipairs(group.runs) do
      asked = asked + 1
      if not known[asked] and not refusals[g] then
        refusals[g] = { 'queue', run.queue }
      end
    end
  end
end

-- include due

-- The beginning of the record of a task that is not simply ready since its submission.
local function history_of(state, revision, ready_at)
  return state .. revision .. revision .. ready_at .. NO_STAMP .. @attempts.none .. '\0'
end

-- Whether a queue has limits of its own; only if any queue has some.
local has_limits

-- Whether ready tasks of a run go into their queue's lane (lane.lua).
local function has_lane(run)
  return run.priority == DEFAULT_PRIORITY and not (limited and has_limits(run.queue))
end

local bodies = {}
local high, low, next_high = take_numbers(#ids)
local take_replaced, remove_replaced, left_by, take_unique, is_any_refused
-- By place: the predecessors of a task. Stores these edges; moves tasks whose predecessors are all over.
local waiting_at, put_links, move_linked = {}, nil, nil
-- By place: the task that is answered, updated or cancelled for it.
local met = {}
if is_any_unique then
  -- include over unique aside lane places remove withdrawn judge returns withdraw duplicates
  refusals[1] = refusals[1] or plan_group(groups[1])
  left_by, take_unique = leaving, take_group
elseif is_any_stored then
  -- include over unique aside lane places remove withdrawn judge
  for g, group in ipairs(groups) do
    refusals[g] = refusals[g] or judge_group(group)
  end
  take_replaced, remove_replaced = note_replaced, remove_all_replaced
end

if is_any_linked then
  -- include link
  refusals[1] = refusals[1] or find_predecessors(groups[1])
  waiting_at, put_links, move_linked = edges_at, put_edges, move_at_once
end

if limited then
  -- include limits lane places length
  for g, group in ipairs(groups) do
    refusals[g] = refusals[g] or check_room(group)
  end
  is_any_refused = next(stands) ~= nil
  note_entered()
end

-- Writes a run's tasks; returns whether they are scheduled.
local function take_run(run)
  local queue, due, priority, stride = gathered(run.queue), due_of(run.start), run.priority, run.stride
  local lane, due_at = queue.lane, due > now and format('%d', due)
  local ready_at, is_in_lane = due_at and stamp_of(due), not due_at and has_lane(run)
  -- The ends of the lists are counted along, because finding them needs a search.
  local record_end, lane_end, taken = #records, #lane, 0
  for place = run.place, run.place + run.count - 1 do
    local letter = letters[place]
    if letter ~= @submitted.existing and letter ~= @submitted.refused then
      local id, argument = ids[place], argument_of(run, place)
      if letter == @submitted.replaced then
        take_replaced(id, stored[place])
        again.replaced[#again.replaced + 1] = id
      end
      if has_tombstone[place] then
        again.stored[#again.stored + 1] = id
      end
      local position, record = number_at(high, low, next_high, place - 1), nil
      if waiting_at[place] then
        record = history_of(@state.waiting, position, stamp_of(due)) .. STAMP .. ARGV[argument + 1]
        push(queue.waiting, position, id)
      elseif due_at then
        record = history_of(@state.scheduled, position, ready_at) .. STAMP .. ARGV[argument + 1]
        push(queue.later, due_at, id)
      else
        record = @state.fresh .. position .. STAMP .. ARGV[argument + 1]
        if is_in_lane then
          lane[lane_end + 1], lane_end = position .. id, lane_end + 1
        else
          push(queue.ready, score_of(priority, position), id)
        end
      end
      records[record_end + 1], records[record_end + 2] = id, record
      record_end, taken = record_end + 2, taken + 1
      if run.kind.is_large then
        push(bodies, id, ARGV[argument + 2])
      end
    end
  end
  queue.counts.accepted = (queue.counts.accepted or 0) + taken
  return due_at and true
end

-- A letter for each task of a run, and for existing ones their queue and status.
local function answer_of_run(run, scheduled, said, existing)
  if not is_any_stored and not is_any_refused then
    said[#said + 1] = string.rep(scheduled and @submitted.scheduled or @submitted.created, run.count)
    return
  end
  for place = run.place, run.place + run.count - 1 do
    local letter = letters[place]
    if letter == @submitted.existing then
      push(existing, queue_of(stored[place]), status_of(stored[place]))
    elseif letter == @submitted.refused then
      letter = stands[place].letter
      existing[#existing + 1] = stands[place].word
    elseif letter == @submitted.replaced then
      letter = scheduled and @submitted.replaced_scheduled or @submitted.replaced
    else
      letter = scheduled and @submitted.scheduled or @submitted.created
    end
    said[#said + 1] = letter
  end
end

-- For each task of a group a letter, its id, and its present queue and status.
local function answers_by_task(group)
  local answer, said = { '' }, {}
  for _, run in ipairs(group.runs) do
    local last = run.place + run.count - 1
    for i, present in ipairs(run.count > 0 and call('HMGET', T, unpack(ids, run.place, last)) or {}) do
      local place = run.place + i - 1
      local letter, record = letters[place], present or stored[place]
      said[#said + 1] = letter == @submitted.existing and @whole.existing
        or letter == @submitted.replaced and @whole.replaced or @whole.created
      push(answer, ids[place], queue_of(record))
      answer[#answer + 1] = status_of(record)
    end
  end
  answer[1] = table.concat(said)
  return answer
end

local answers = {}
for g, group in ipairs(groups) do
  local said, existing, is_plain = {}, {}, not is_any_stored and not is_any_refused
  if take_unique and not refusals[g] then
    refusals[g] = take_unique(group)
  elseif not refusals[g] then
    for _, run in ipairs(group.runs) do
      is_plain = is_plain and due_of(run.start) == now
    end
    for _, run in ipairs(group.runs) do
      local scheduled = take_run(run)
      if not is_plain then
        answer_of_run(run, scheduled, said, existing)
      end
    end
  end
  answers[g] = refusals[g] or is_plain and 1 or { table.concat(said), unpack(existing) }
end
if remove_replaced then
  remove_replaced()
end
spread('HDEL', P .. 'e', again.stored)
if (again.stored[1] or again.replaced[1]) and call('EXISTS', P .. 'workflows') == 1 then
  -- include touch_run
  for _, list in pairs(again) do
    for _, id in ipairs(list) do
      touch_run(id)
    end
  end
end
spread('HSET', B, bodies)
if put_links and not refusals[1] then
  put_links()
end
-- Tasks of the call may have moved others of the call.
local may_have_moved = put_links or ended_links[1]
write_moves(true)
if put_links and not refusals[1] then
  move_linked()
end
for g, group in ipairs(may_have_moved and not take_unique and groups or {}) do
  if not refusals[g] and string.lower(group.mode) == group.mode then
    answers[g] = answers_by_task(group)
  end
end
return answers
