#!lua flags=allow-oom
-- Renews the entry of a process that waits for the end of tasks, and forgets the tasks it no longer waits for.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 instance, 3 for how many milliseconds it counts as alive; then for
-- each task to forget: its id, or the entry of a board's group (see `board_wait.lua`), and the mark it was last noted with.
-- One that was noted again since stays.
-- Returns whether the process was on record (if not, what it awaits may be forgotten), and processes that are gone: see
-- `sweep_awaited.lua`.

-- include base listeners keep_awaited

-- Processes that a renewal looks after.
local LOOKED_AFTER = 4
local instance, awaiting = ARGV[2], P .. 'awaiting'
for i = 4, #ARGV, 2 do
  -- No id of a task has a `|`.
  local awaited = P .. (string.find(ARGV[i], '|', 1, true) and 'awaited:groups' or 'awaited')
  local waiting = call('HGET', awaited, ARGV[i])
  local mark = waiting and string.match(waiting, instance .. '=(%d+);')
  if mark and tonumber(mark) <= tonumber(ARGV[i + 1]) then
    local others = string.gsub(waiting, instance .. '=%d+;', '')
    if others == '' then
      call('HDEL', awaited, ARGV[i])
    else
      call('HSET', awaited, ARGV[i], others)
    end
  end
end
local before, present = keep_awaited(instance, ARGV[3])
local silent = call('ZRANGE', awaiting, '-inf', '(' .. format('%.0f', present), 'BYSCORE', 'LIMIT', 0, 16)
for _, other in ipairs(call('ZRANDMEMBER', awaiting, LOOKED_AFTER)) do
  if not is_connected(other) then
    silent[#silent + 1] = other
  end
end
return { before and 1 or 0, silent }
