#!lua flags=no-writes
-- A page of a group's tasks in the order of time and revision.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 board, 3 group, 4 the place after which to go on, or nothing, 5 1 if
-- only visible tasks are listed else 0, 6 at most how many, 7 bytes after which no more records are added.
-- Returns {how many tasks the group holds, the place after which the next page goes on or nothing, revision and record of
-- each task, …}.

-- include base board board_time

local key, limit = places_in(ARGV[2], ARGV[3]), tonumber(ARGV[6])
local first = ARGV[4] == '' and '-' or '(' .. ARGV[4]
local last = ARGV[5] == @flag.yes and '[' .. PRESENT .. LAST_REVISION or '+'
local places = call('ZRANGEBYLEX', key, first, last, 'LIMIT', 0, limit + 1)
local answer, bytes, next_after = { call('ZCARD', key), '' }, 0, ''
for i, place in ipairs(places) do
  if i > limit or bytes >= tonumber(ARGV[7]) then
    answer[2] = next_after
    break
  end
  local revision = sub(place, @board_place.revision)
  local record = call('HGET', of_board('t', ARGV[2]), revision)
  next_after = place
  if record then
    answer[#answer + 1] = revision
    answer[#answer + 1] = record
    bytes = bytes + #record
  end
end
return answer
