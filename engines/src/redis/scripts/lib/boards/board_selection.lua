-- What a commit deletes and updates.

-- The revisions that have one of the labels of a list, and whether these are too many.
local function labelled(board, list)
  local revisions, seen = {}, {}
  for _, label in ipairs(labels_between(list, 1, #list)) do
    local entries = call('ZRANGEBYLEX', of_board('l', board), '[' .. label, '[' .. label .. LAST_REVISION,
      'LIMIT', '0', MOST_CHANGES + 1)
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

-- Whether a task is already updated as an update says; `earlier` is `true` for one that is deleted.
local function changes_the_same(earlier, update)
  return earlier ~= true and earlier.group == update.group and earlier.at == update.at and earlier.content == update.content
end

-- Takes a stored task into a plan, to delete it if no update is given.
local function plan_change(plan, revision, record, update)
  local owned = plan.conflicts[#plan.conflicts]
  if plan.commit.checks_owner and is_held(record, plan.commit.owner) and not plan.held[revision] then
    plan.held[revision], owned[#owned + 1] = true, revision
  end
  if not plan.changed[revision] then
    local tasks = update and plan.updated or plan.deleted
    plan.changed[revision], plan.count = update or true, plan.count + 1
    plan.bytes = plan.bytes + (update and #update.content or 0)
    tasks[#tasks + 1] = { revision, record, update }
  elseif update and not changes_the_same(plan.changed[revision], update) then
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

-- Takes what a commit selects into a plan.
local function plan_selections(plan)
  local commit = plan.commit
  local _, missing_deleted, missing_updated = unpack(plan.conflicts)
  for _, which in ipairs(commit.delete) do
    local is_group = sub(which, @pick.kind) == @pick_kind.group
    if is_group and not commit.checks_owner and call('EXISTS', of_board('l', commit.board)) == 0 then
      plan_whole_group(plan, sub(which, @pick.rest.at))
    else
      plan_selection(plan, which, missing_deleted)
    end
  end
  for _, update in ipairs(commit.update) do
    plan_selection(plan, update.which, missing_updated, update)
  end
end
