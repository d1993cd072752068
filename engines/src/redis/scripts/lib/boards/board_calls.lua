-- Carries out commits and takes of several callers, one after the other, each for itself.
--
-- ARGV: 1 the current time, 2 where the call is remembered in case its answer gets lost, 3 its id, 4 1 if it may have been
-- carried out already else 0, 5 how many commits and takes; for each: a letter, its arguments. Of a commit, c: board, owner,
-- 1 if owners are checked else 0, `=` and a mark or nothing, then lists with their lengths in front: revisions that must exist; selections to delete; updates, each a
-- selection, `=` and a new group or nothing, a new time or nothing, a new content or nothing; creations, each nothing,
-- group, time, content. Of a commit that only creates one task, n: board, owner, group, time, content. Of one that only
-- deletes one task by its revision, d: board, owner, 1 if owners are checked else 0, the revision. Of a take, t: board, group, owner, among how many tasks it chooses, two random numbers, the
-- present as the caller sees it or nothing, a span to lease for or nothing, until when in microseconds a caller waits
-- for the answer or 0, and the list of revisions that must exist.
-- Returns the present in microseconds; then for each commit {d, the present, how many were deleted, the first revision
-- or nothing, group and time of each updated task, …}, {a} its mark is taken, {x, missing ones of each of the three
-- lists, owned ones}, {w, a revision that is changed twice}, {m} too many tasks or {b} too many bytes are changed; for
-- each take {f, the present, the board's counter, revision, record}, {n, the same two, the first time or nothing}, {r,
-- the same two, missing revisions, …}, or {l} if no caller waits any more. Returns {} if the store has to be set up
-- first.

-- include clock now board board_run

local remembered = P .. 'answered:' .. ARGV[2]
if ARGV[4] == @flag.yes then
  local before = call('GET', remembered)
  if before and sub(before, @answered.id) == ARGV[3] then
    local again = cmsgpack.unpack(sub(before, @answered.rest.at))
    again[1] = NOW
    return again
  end
end
if not skipped then
  return {}
end

-- include board_time board_revisions

local has_written = false
-- How each kind of request is carried out, once there is one.
local carry_out_commit, carry_out_creation, carry_out_deletion, carry_out_take

local answers, at = { NOW }, 6
for i = 2, ARGV[5] + 1 do
  local kind = ARGV[at]
  if kind == @board_call.take then
    if not carry_out_take then
      -- include board_take
    end
    answers[i], at = carry_out_take(at + 1)
  elseif kind == @board_call.creation then
    if not carry_out_creation then
      -- include board_create
    end
    answers[i], at = carry_out_creation(at + 1)
  elseif kind == @board_call.deletion then
    if not carry_out_deletion then
      -- include board_delete
    end
    answers[i], at = carry_out_deletion(at + 1)
  else
    if not carry_out_commit then
      -- include spread board_when board_write board_commit
    end
    answers[i], at = carry_out_commit(at + 1)
  end
end
if has_written then
  call('SET', remembered, ARGV[3] .. cmsgpack.pack(answers), 'PX', '30000')
end
-- include board_woken
return answers
