-- An audit of boards: the record of a task is right, and its places and labels are compared with that.
--
-- ARGV[3] is the board; of `board_group` with `/` and the group's bytes as hexadecimal digits behind it. Values may be
-- large and come along, so that few records are looked at in one step.

-- A store that was damaged may have no note.
skipped = tonumber(skipped or 0)

local RECORDS = math.max(1, min(limit, 50))

local function called(board, revision)
  return board .. '/' .. tonumber(revision)
end

-- Notes that a member is missing in a sorted set in which it must be.
local function check_member(subject, key, member, detail)
  if not call('ZSCORE', key, member) then
    note('unplaced', subject, detail, function()
      call('ZADD', key, 0, member)
    end)
  end
end

local function is_readable(record)
  local at = @board_task.rest.at
  return #record >= at - 1 and #record >= at - 1 + (tonumber((sub(record, @board_task.group_length))) or #record)
end

-- Tasks by their records: whether all that finds them is there, and whether the counter is past them.
local function audit_board_tasks(board)
  local found = scan('HSCAN', of_board('t', board), RECORDS)
  local count = tonumber(call('GET', of_board('c', board)) or 0)
  for i = 1, #found[2], 2 do
    local revision, record = found[2][i], found[2][i + 1]
    local subject = called(board, revision)
    looked_at = looked_at + 1
    if not is_readable(record) then
      note('unreadable', subject, 'the record of a board\'s task can\'t be read')
    else
      local group = group_of(record)
      check_member(subject, places_in(board, group), place_of(revision, record), 'no take of its group would find it')
      check_member(subject, of_board('n', board), group, 'its group is not listed')
      for _, label in ipairs(labels_of(record, content_at(record))) do
        check_member(subject, of_board('l', board), label .. revision, 'no selection by its labels would find it')
      end
      if tonumber(revision) > skipped + count then
        note('miscounted', subject, 'the counter of its board is at ' .. format('%.0f', skipped + count), function()
          count = tonumber(revision) - skipped
          call('SET', of_board('c', board), format('%.0f', count))
        end)
      end
    end
  end
  return found[1]
end

-- Looks over the members of a sorted set, each of which belongs to a task; `belongs` says whether it is right.
local function audit_members(board, key, detail, belongs)
  local found = scan('ZSCAN', key, RECORDS)
  for i = 1, #found[2], 2 do
    local member = found[2][i]
    local revision = sub(member, -#LAST_REVISION)
    local record = call('HGET', of_board('t', board), revision)
    looked_at = looked_at + 1
    if not record or is_readable(record) and not belongs(record, revision, member) then
      note('place_without_task', called(board, revision), detail, function()
        call('ZREM', key, member)
      end)
    end
  end
  return found[1]
end

local function audit_board_group(named)
  local board, digits = string.match(named, '^(.*)/(%x*)$')
  local group = string.gsub(digits, '%x%x', function(pair)
    return string.char(tonumber(pair, 16))
  end)
  return audit_members(board, places_in(board, group), 'its group has a place for it', function(record, revision, member)
    return group_of(record) == group and place_of(revision, record) == member
  end)
end

local function audit_board_labels(board)
  return audit_members(board, of_board('l', board), 'it is found by a label that it has not',
    function(record, revision, member)
      for _, label in ipairs(labels_of(record, content_at(record))) do
        if label .. revision == member then
          return true
        end
      end
      return false
    end)
end

-- Names of groups, in the list of them and where it is noted when they changed: whether these hold tasks.
local function audit_board_names(board, part)
  local found = scan(part == 'n' and 'ZSCAN' or 'HSCAN', of_board(part, board), limit)
  for i = 1, #found[2], 2 do
    local group = found[2][i]
    looked_at = looked_at + 1
    if call('EXISTS', places_in(board, group)) == 0 then
      note('orphan', board, 'an empty group is listed', function()
        -- Together, as commits do: one that finds the field takes the group as listed.
        call('ZREM', of_board('n', board), group)
        call('HDEL', of_board('w', board), group)
      end)
    end
  end
  return found[1]
end

return {
  board_tasks = audit_board_tasks,
  board_group = audit_board_group,
  board_labels = audit_board_labels,
  board_names = function(board) return audit_board_names(board, 'n') end,
  board_changes = function(board) return audit_board_names(board, 'w') end,
}
