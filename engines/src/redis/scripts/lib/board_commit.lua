-- One commit: everything is checked first, then only writes follow that can't fail.

local MOST_CHANGES, MOST_BYTES = @limit.board_changes, @limit.board_bytes

-- Reads a list of arguments that has its length in front. Returns it and where what follows it begins.
local function read_list(at)
  local count, list = tonumber(ARGV[at]), {}
  for i = 1, count do
    list[i] = ARGV[at + i]
  end
  return list, at + count + 1
end

-- Reads a list of arguments that stand four by four.
local function read_fours(at)
  local count, list = tonumber(ARGV[at]), {}
  for i = 1, count do
    local first = at + 1 + (i - 1) * 4
    local which, group, when, content = unpack(ARGV, first, first + 3)
    list[i] = { which = which, group = group, at = when, content = content }
  end
  return list, at + 4 * count + 1
end

local function read_commit(at)
  local board, owner, check, mark = unpack(ARGV, at, at + 3)
  local commit = { board = board, owner = owner, checks_owner = check == @flag.yes, mark = mark }
  commit.require, at = read_list(at + 4)
  commit.delete, at = read_list(at)
  commit.update, at = read_fours(at)
  commit.create, at = read_fours(at)
  return commit, at
end

-- Those of these revisions that do not exist, each once.
local function missing_of(board, revisions)
  local missing, seen = {}, {}
  for _, revision in ipairs(revisions) do
    if not seen[revision] and call('HEXISTS', of_board('t', board), revision) == 0 then
      missing[#missing + 1] = revision
    end
    seen[revision] = true
  end
  return missing
end

-- The revisions that have one of the labels of a list, and whether these are too many.
local function labelled(board, list)
  local revisions, seen = {}, {}
  for _, label in ipairs(labels_between(list, 1, #list)) do
    local entries = call('ZRANGEBYLEX', of_board('l', board), '[' .. label, '[' .. label .. LAST_REVISION,
      'LIMIT', 0, MOST_CHANGES + 1)
    if #entries > MOST_CHANGES then
      return revisions, true
    end
    for _, entry in ipairs(entries) do
      local revision = sub(entry, #label + 1)
      if not seen[revision] then
        seen[revision], revisions[#revisions + 1] = true, revision
      end
    end
  end
  return revisions, #revisions > MOST_CHANGES
end

-- The revisions that a selection means, in their order, and whether these are too many. One that is named comes also if it
-- does not exist.
local function select_from(board, which)
  local kind, rest = sub(which, @pick.kind), sub(which, @pick.rest.at)
  if kind == @pick_kind.revision then
    return { rest }, false
  end
  local revisions, is_too_many
  if kind == @pick_kind.labels then
    revisions, is_too_many = labelled(board, rest)
  else
    is_too_many = call('ZCARD', places_in(board, rest)) > MOST_CHANGES
    revisions = is_too_many and {} or call('ZRANGE', places_in(board, rest), 0, -1)
    for i, place in ipairs(revisions) do
      revisions[i] = sub(place, @board_place.revision)
    end
  end
  table.sort(revisions)
  return revisions, is_too_many
end

-- The records of these revisions.
local function records_of(board, revisions)
  local records = {}
  for first = 1, #revisions, 1000 do
    local found = call('HMGET', of_board('t', board), unpack(revisions, first, min(first + 999, #revisions)))
    for i, record in ipairs(found) do
      records[first + i - 1] = record
    end
  end
  return records
end

-- What a commit would change: `deleted` and `updated` tasks, each as {revision, record, which update}; groups that go as a
-- whole, whose records are not read; conflicts in the order of the answer; and what refuses it, if anything does.
local function new_plan(commit)
  return { commit = commit, board = commit.board, deleted = {}, updated = {}, whole = {}, changed = {}, held = {},
    conflicts = { missing_of(commit.board, commit.require), {}, {}, {} }, count = #commit.create, bytes = 0 }
end

local function refuse(plan, ...)
  plan.refusal = plan.refusal or { ... }
end

-- Whether another owner holds a task.
local function is_held(commit, record)
  return commit.checks_owner and sub(record, @board_task.at) > PRESENT
    and sub(record, @board_task.owner) ~= commit.owner
end

-- Takes a stored task into a plan, to delete it if no update is given.
local function plan_change(plan, revision, record, update)
  local owned = plan.conflicts[#plan.conflicts]
  if is_held(plan.commit, record) and not plan.held[revision] then
    plan.held[revision], owned[#owned + 1] = true, revision
  end
  if not plan.changed[revision] then
    local tasks = update and plan.updated or plan.deleted
    plan.changed[revision], plan.count = true, plan.count + 1
    plan.bytes = plan.bytes + (update and #update.content or 0)
    tasks[#tasks + 1] = { revision, record, update }
  elseif update then
    refuse(plan, @board_said.twice, revision)
  end
end

-- Takes the tasks of a selection into a plan. One that is named and does not exist is noted in `missing`.
local function plan_selection(plan, which, missing, update)
  local revisions, is_too_many = select_from(plan.board, which)
  if is_too_many then
    return refuse(plan, @board_said.many)
  end
  for i, record in ipairs(records_of(plan.board, revisions)) do
    if record then
      plan_change(plan, revisions[i], record, update)
    elseif sub(which, @pick.kind) == @pick_kind.revision and not missing[revisions[i]] then
      missing[revisions[i]], missing[#missing + 1] = true, revisions[i]
    end
  end
end

-- Takes all tasks of a group into a plan without a look at them: none has labels, and no owner is asked.
local function plan_whole_group(plan, group)
  if call('ZCARD', places_in(plan.board, group)) > MOST_CHANGES then
    return refuse(plan, @board_said.many)
  end
  plan.whole[group] = true
  for _, place in ipairs(call('ZRANGE', places_in(plan.board, group), 0, -1)) do
    local revision = sub(place, @board_place.revision)
    if not plan.changed[revision] then
      plan.changed[revision], plan.count = true, plan.count + 1
      plan.deleted[#plan.deleted + 1] = { revision }
    end
  end
end

local function plan_commit(commit)
  local plan = new_plan(commit)
  local _, missing_deleted, missing_updated = unpack(plan.conflicts)
  local may_go_whole = not commit.checks_owner and call('EXISTS', of_board('l', commit.board)) == 0
  for _, which in ipairs(commit.delete) do
    if may_go_whole and sub(which, @pick.kind) == @pick_kind.group then
      plan_whole_group(plan, sub(which, @pick.rest.at))
    else
      plan_selection(plan, which, missing_deleted)
    end
  end
  for _, update in ipairs(commit.update) do
    plan_selection(plan, update.which, missing_updated, update)
  end
  if plan.count > MOST_CHANGES then
    refuse(plan, @board_said.many)
  elseif plan.bytes > MOST_BYTES then
    refuse(plan, @board_said.bytes)
  end
  for _, list in ipairs(plan.conflicts) do
    if list[1] then
      refuse(plan, @board_said.conflict, unpack(plan.conflicts))
    end
  end
  return plan
end

-- Changes a task. Returns its group and time.
local function update_task(changes, task, revision, owner)
  local old, record, update = unpack(task)
  local group, at, content = group_of(record), sub(record, @board_task.at), update.content
  local new_group = update.group ~= '' and sub(update.group, @given.rest.at) or group
  local new_at = update.at ~= '' and resolve(update.at) or at
  take_out(changes, old, record)
  put_in(changes, revision, new_at, owner, new_group, content ~= '' and content or sub(record, content_at(record)))
  if new_group ~= group or new_at < at then
    changes.woken[new_group] = revision
  end
  return new_group, new_at
end

local function apply_plan(plan)
  local changes, commit, updated = changes_of(plan.board), plan.commit, plan.updated
  for group in pairs(plan.whole) do
    listed(changes.leaving, group).are_all = true
  end
  for _, task in ipairs(plan.deleted) do
    local revision, record = unpack(task)
    if record then
      take_out(changes, revision, record)
    else
      changes.gone[#changes.gone + 1] = revision
    end
  end
  local count = #updated + #commit.create
  local revision_at = count > 0 and take_revisions(plan.board, count)
  local answer = { @board_said.done, PRESENT, #plan.deleted, revision_at and revision_at(1) or '' }
  for i, task in ipairs(updated) do
    local group, at = update_task(changes, task, revision_at(i), commit.owner)
    answer[#answer + 1] = group
    answer[#answer + 1] = at
  end
  for i, create in ipairs(commit.create) do
    local revision = revision_at(#updated + i)
    put_in(changes, revision, resolve(create.at), commit.owner, create.group, create.content)
    changes.woken[create.group] = revision
  end
  write_changes(changes)
  return answer
end

-- Carries out a commit. Returns its outcome.
local function carry_out(commit)
  local marks = of_board('m', commit.board)
  local mark = commit.mark ~= '' and sub(commit.mark, @given.rest.at)
  if mark and call('SISMEMBER', marks, mark) == 1 then
    return { @board_said.already }
  end
  local plan = plan_commit(commit)
  if plan.refusal then
    return plan.refusal
  end
  if mark then
    call('SADD', marks, mark)
    call('ZADD', P .. 'boards', 0, commit.board)
    has_written = true
  end
  return apply_plan(plan)
end
