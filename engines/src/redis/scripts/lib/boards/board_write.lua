-- Changes of one board, gathered and written at the end.

-- include board_labels

-- What is gathered of a board. By group: places that go and places that come.
local function changes_of(board)
  return { board = board, gone = {}, records = {}, leaving = {}, coming = {}, labels_gone = {}, labels = {}, woken = {} }
end

local function listed(lists, name)
  local list = lists[name]
  if not list then
    list = {}
    lists[name] = list
  end
  return list
end

-- Takes a stored task out.
local function take_out(changes, revision, record)
  local leaving = listed(changes.leaving, group_of(record))
  leaving[#leaving + 1] = place_of(revision, record)
  changes.gone[#changes.gone + 1] = revision
  for _, label in ipairs(labels_of(record, content_at(record))) do
    changes.labels_gone[#changes.labels_gone + 1] = label .. revision
  end
end

-- Puts a task in: `content` is what follows the group's name in its record.
local function put_in(changes, revision, at, owner, group, content)
  local record = at .. owner .. format('%05d', #group) .. group .. content
  local records, coming, labels = changes.records, listed(changes.coming, group), changes.labels
  records[#records + 1] = revision
  records[#records + 1] = record
  coming[#coming + 1] = '0'
  coming[#coming + 1] = at .. revision
  for _, label in ipairs(labels_of(content, 1)) do
    labels[#labels + 1] = '0'
    labels[#labels + 1] = label .. revision
  end
  return record
end

local function write_changes(changes)
  local board = changes.board
  has_written = has_written or next(changes.gone) ~= nil or next(changes.records) ~= nil
  for group, places in pairs(changes.leaving) do
    if places.are_all then
      call('UNLINK', places_in(board, group))
    else
      spread('ZREM', places_in(board, group), places)
    end
  end
  spread('HDEL', of_board('t', board), changes.gone)
  spread('ZREM', of_board('l', board), changes.labels_gone)
  spread('HSET', of_board('t', board), changes.records)
  spread('ZADD', of_board('l', board), changes.labels)
  for group, places in pairs(changes.coming) do
    spread('ZADD', places_in(board, group), places)
  end
  for group, revision in pairs(changes.woken) do
    note_woken(board, group, revision)
  end
  for group in pairs(changes.leaving) do
    if not changes.coming[group] and call('EXISTS', places_in(board, group)) == 0 then
      call('ZREM', of_board('n', board), group)
      call('HDEL', of_board('w', board), group)
    end
  end
end
