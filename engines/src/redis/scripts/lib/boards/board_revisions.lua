-- Gives out the next revisions of a board, and notes what received a task.

local is_run_noted = false

-- Returns how many revisions were given out before these.
local function take_revisions(board, count)
  if not is_run_noted then
    note_run()
    is_run_noted = true
  end
  local last = call('INCRBY', of_board('c', board), count)
  if last == tonumber(count) then
    call('ZADD', P .. 'boards', '0', board)
  end
  return skipped + last - count
end

-- The digits of a revision.
local function revision_of(number)
  return format('%016d', number)
end

-- Groups of all boards that received a task or have one that became earlier: what is awaited (see board_wait.lua).
local woken = {}

local function note_woken(board, group, revision)
  -- An empty group that receives a task has no field yet: an emptied one lost it.
  if call('HSET', of_board('w', board), group, revision) == 1 then
    call('ZADD', of_board('n', board), '0', group)
  end
  woken[#woken + 1] = { board, group }
end
