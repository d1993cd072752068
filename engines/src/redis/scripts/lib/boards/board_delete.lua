-- A commit that deletes one task by its revision and does nothing else, as most deletions do.

-- Carries it out. Returns its outcome and where the next arguments begin.
function carry_out_deletion(at)
  local board, owner, check, revision = unpack(ARGV, at, at + 3)
  local tasks, next_at = of_board('t', board), at + 4
  local record = call('HGET', tasks, revision)
  if not record then
    return { @board_said.conflict, {}, { revision }, {}, {} }, next_at
  elseif check == @flag.yes and is_held(record, owner) then
    return { @board_said.conflict, {}, {}, {}, { revision } }, next_at
  end
  local group = group_of(record)
  local places = places_in(board, group)
  call('ZREM', places, place_of(revision, record))
  call('HDEL', tasks, revision)
  if has_labels(record, content_at(record)) then
    -- include board_labels
    for _, label in ipairs(labels_of(record, content_at(record))) do
      call('ZREM', of_board('l', board), label .. revision)
    end
  end
  if call('EXISTS', places) == 0 then
    call('ZREM', of_board('n', board), group)
    call('HDEL', of_board('w', board), group)
  end
  has_written = true
  return { @board_said.done, PRESENT, 1, '' }, next_at
end
