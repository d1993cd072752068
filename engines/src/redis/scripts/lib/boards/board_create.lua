-- A commit that creates one task and does nothing else, as most creations do.

-- include board_when

-- Carries it out. Returns its outcome and where the next arguments begin.
function carry_out_creation(at)
  local board, owner, group, when, content = unpack(ARGV, at, at + 4)
  local time, revision = resolve(when), revision_of(take_revisions(board, '1') + 1)
  call('HSET', of_board('t', board), revision, time .. owner .. format('%05d', #group) .. group .. content)
  call('ZADD', places_in(board, group), '0', time .. revision)
  if has_labels(content, 1) then
    -- include board_labels
    for _, label in ipairs(labels_of(content, 1)) do
      call('ZADD', of_board('l', board), '0', label .. revision)
    end
  end
  note_woken(board, group, revision)
  has_written = true
  return { @board_said.done, PRESENT, 0, revision }, at + 5
end
