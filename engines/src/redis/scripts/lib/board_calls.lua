-- Carries out commits and takes of several callers, one after the other, each for itself.
--
-- ARGV: 1 the current time, 2 where the call is remembered in case its answer gets lost, 3 its id, 4 how many commits and
-- takes; for each: c or t, its arguments. Of a commit: board, owner, 1 if owners are checked else 0, `=` and a mark or
-- nothing, then lists with their lengths in front: revisions that must exist; selections to delete; updates, each a
-- selection, `=` and a new group or nothing, a new time or nothing, a new content or nothing; creations, each nothing,
-- group, time, content. Of a take: board, group, owner, among how many tasks it chooses, two random numbers, the
-- present as the caller sees it or nothing, a span to lease for or nothing, until when in microseconds a caller waits
-- for the answer or 0, and the list of revisions that must exist.
-- Returns the present in microseconds; then for each commit {d, the present, how many were deleted, the first revision
-- or nothing, group and time of each updated task, …}, {a} its mark is taken, {x, missing ones of each of the three
-- lists, owned ones}, {w, a revision that is changed twice}, {m} too many tasks or {b} too many bytes are changed; for
-- each take {f, the present, the board's counter, revision, record}, {n, the same two, the first time or nothing}, {r,
-- the same two, missing revisions, …}, or {l} if no caller waits any more. Returns {} if the store has to be set up
-- first.

-- include base spread board board_time board_run

local remembered = P .. 'answered:' .. ARGV[2]
local before = call('GET', remembered)
if before and sub(before, @answered.id) == ARGV[3] then
  local again = cmsgpack.unpack(sub(before, @answered.rest.at))
  again[1] = NOW
  return again
end
local skipped = note_run()
if not skipped then
  return {}
end

-- include board_write board_commit board_take

local answers, at = { NOW }, 5
for i = 1, tonumber(ARGV[4]) do
  local kind, request = ARGV[at], nil
  if kind == @board_call.commit then
    request, at = read_commit(at + 1)
    answers[i + 1] = carry_out(request)
  else
    request, at = read_take(at + 1)
    answers[i + 1] = carry_out_take(request)
  end
end
if has_written then
  call('SET', remembered, ARGV[3] .. cmsgpack.pack(answers), 'PX', 30000)
end
-- include board_woken
return answers
