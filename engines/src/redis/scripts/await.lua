#!lua flags=allow-oom
-- The whole task; and while it is not over, notes that a process waits for its end.
--
-- The process reports each task it awaits once and then only renews its own entry in `awaiting` (see
-- `renew_awaiting.lua`). Looking and noting are one step, so an end in between is not missed.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id, 3 instance, 4 mark: a number that grows with each such call of the
-- process, 5 for how many milliseconds the process counts as alive.
-- Returns as `get.lua`.

-- include base view

local id, instance, mark = ARGV[2], ARGV[3], tonumber(ARGV[4])
local seen = view(id, false)
if not seen then
  return false
end
local _, record = unpack(seen)
if not is_over(record) then
  local awaited, waiting = P .. 'awaited', call('HGET', P .. 'awaited', id) or ''
  local before = string.match(waiting, instance .. '=(%d+);')
  if not before or tonumber(before) < mark then
    -- Over 64 bytes, so that `awaited` is never a listpack, in which each access would be a linear search.
    local others = string.gsub(waiting, instance .. '=%d+;', '')
    call('HSET', awaited, id, others .. instance .. '=' .. format('%040.0f', mark) .. ';')
  end
  call('PEXPIRE', awaited, ARGV[5])
  -- By the server's own clock, because the silence of a process is unrelated to the time of tasks.
  local time = call('TIME')
  call('ZADD', P .. 'awaiting', 'GT', format('%.0f', time[1] * 1000 + time[2] / 1000 + ARGV[5]), instance)
  call('PEXPIRE', P .. 'awaiting', ARGV[5])
end
return { seen, call('HGET', H, id) or '', call('HGET', B, id) or '' }
