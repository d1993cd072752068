-- Boards: the names of what a board holds, and how its tasks are read.
--
-- A board's task is a record (`@board_task` in layout.rs) under its revision, a place in its group's sorted set, and an
-- entry in the index of labels for each of its labels. All scores are 0, so members are in the order of their bytes.

-- The key of a part of a board: c how many revisions it took, t records by revision, g a group's places, n the groups that
-- hold tasks, l the index of labels, w the revision at which a group last received a task or one of it became earlier,
-- m the marks of commits.
local function of_board(part, board)
  return P .. 'board:' .. part .. ':' .. board
end

-- The key of a group's places. A board's name has no `|`.
local function places_in(board, group)
  return of_board('g', board .. '|' .. group)
end

-- The last revision, as a bound of what comes before and after.
local LAST_REVISION = '9999999999999999'

local function group_of(record)
  local at = @board_task.rest.at
  return sub(record, at, at - 1 + sub(record, @board_task.group_length))
end

-- Where a record's content begins.
local function content_at(record)
  return @board_task.rest.at + sub(record, @board_task.group_length)
end

local function place_of(revision, record)
  return sub(record, @board_task.at) .. revision
end

-- How the length of no labels is written.
local NO_LABELS = '0000000'

-- Whether a content, which begins somewhere in a text, has labels.
local function has_labels(text, at)
  return sub(text, at - 1 + @content.labels_length.at, at - 1 + @content.labels_length.last) ~= NO_LABELS
end
