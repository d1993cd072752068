#!lua
-- Stores tasks of a board under the revisions they had elsewhere, and raises its counter. Without `allow-oom`: it adds to the
-- store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time; 2 board; 3 what its counter is at least (16 digits); 4 how many
-- marks, the marks; of each task: revision, time, owner, group, content.
-- Returns the present, and for each task d done, a stored already, c another task has its revision. Returns {} if the store has to be set up
-- first.

-- include clock now spread board board_run

if not skipped then
  return {}
end
note_run()

local has_written = false
-- include board_revisions board_write

local board, least, marks, answers = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), {}
local changes, tasks = changes_of(board), of_board('t', board)
for at = 5 + marks, #ARGV, 5 do
  local revision, when, owner, group, content = unpack(ARGV, at, at + 4)
  local known = call('HGET', tasks, revision)
  if not known then
    put_in(changes, revision, when, owner, group, content)
    changes.woken[group] = ARGV[3]
    answers[#answers + 1] = @restored.done
  elseif known == when .. owner .. format('%05d', #group) .. group .. content then
    answers[#answers + 1] = @restored.already
  else
    answers[#answers + 1] = @restored.conflict
  end
end
spread('SADD', of_board('m', board), { unpack(ARGV, 5, 4 + marks) })
if tonumber(call('GET', of_board('c', board)) or 0) < least - skipped then
  call('SET', of_board('c', board), format('%.0f', least - skipped))
end
call('ZADD', P .. 'boards', 0, board)
write_changes(changes)
-- include board_woken
table.insert(answers, 1, NOW)
return answers
