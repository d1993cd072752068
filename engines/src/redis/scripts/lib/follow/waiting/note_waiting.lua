-- include keep_awaited

-- Notes that a process waits for the end of a task, or for a group of a board: in `key`, under `field`.
local function note_waiting(key, field, instance, mark, alive_for)
  local waiting = call('HGET', key, field) or ''
  local before = string.match(waiting, instance .. '=(%d+);')
  if not before or tonumber(before) < mark then
    -- Over 64 bytes, so that the hash is never a listpack, in which each access would be a linear search.
    local others = string.gsub(waiting, instance .. '=%d+;', '')
    call('HSET', key, field, others .. instance .. '=' .. format('%040.0f', mark) .. ';')
  end
  keep_awaited(instance, alive_for)
end
