-- Notes that a process waits for the end of a task, or for a group of a board: in `key`, under `field`.
local function note_waiting(key, field, instance, mark, alive_for)
  local waiting = call('HGET', key, field) or ''
  local before = string.match(waiting, instance .. '=(%d+);')
  if not before or tonumber(before) < mark then
    -- Over 64 bytes, so that the hash is never a listpack, in which each access would be a linear search.
    local others = string.gsub(waiting, instance .. '=%d+;', '')
    call('HSET', key, field, others .. instance .. '=' .. format('%040.0f', mark) .. ';')
  end
  call('PEXPIRE', key, alive_for)
  -- By the server's own clock, because the silence of a process is unrelated to the time of tasks.
  local time = call('TIME')
  call('ZADD', P .. 'awaiting', 'GT', format('%.0f', time[1] * 1000 + time[2] / 1000 + alive_for), instance)
  call('PEXPIRE', P .. 'awaiting', alive_for)
end
