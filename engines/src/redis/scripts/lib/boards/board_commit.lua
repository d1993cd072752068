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
  local first = at + 5
  at = first + ARGV[at + 4]
  if at > first then
    -- include board_missing
    commit.missing = missing_of(board, first, at - 1)
  end
  commit.delete, at = read_list(at)
  commit.update, at = read_fours(at)
  commit.create, at = read_fours(at)
  return commit, at
end

-- What a commit would change: `deleted` and `updated` tasks, each as {revision, record, which update}; groups that go as a
-- whole, whose records are not read; conflicts in the order of the answer; and what refuses it, if anything does.
local function new_plan(commit)
  return { commit = commit, board = commit.board, deleted = {}, updated = {}, whole = {}, changed = {}, held = {},
    conflicts = { commit.missing or {}, {}, {}, {} }, count = #commit.create, bytes = 0 }
end

local function refuse(plan, ...)
  plan.refusal = plan.refusal or { ... }
end

local function plan_commit(commit)
  local plan = new_plan(commit)
  if commit.delete[1] or commit.update[1] then
    -- include board_selection
    plan_selections(plan)
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
  local before = count > 0 and take_revisions(plan.board, count)
  local answer = { @board_said.done, PRESENT, #plan.deleted, before and revision_of(before + 1) or '' }
  for i, task in ipairs(updated) do
    local group, at = update_task(changes, task, revision_of(before + i), commit.owner)
    answer[#answer + 1] = group
    answer[#answer + 1] = at
  end
  for i, create in ipairs(commit.create) do
    local revision = revision_of(before + #updated + i)
    put_in(changes, revision, resolve(create.at), commit.owner, create.group, create.content)
    changes.woken[create.group] = revision
  end
  write_changes(changes)
  return answer
end

-- Carries out a commit. Returns its outcome and where the next arguments begin.
function carry_out_commit(at)
  local commit, next_at = read_commit(at)
  local marks = of_board('m', commit.board)
  local mark = commit.mark ~= '' and sub(commit.mark, @given.rest.at)
  if mark and call('SISMEMBER', marks, mark) == 1 then
    return { @board_said.already }, next_at
  end
  local plan = plan_commit(commit)
  if plan.refusal then
    return plan.refusal, next_at
  end
  if mark then
    call('SADD', marks, mark)
    call('ZADD', P .. 'boards', '0', commit.board)
    has_written = true
  end
  return apply_plan(plan), next_at
end
