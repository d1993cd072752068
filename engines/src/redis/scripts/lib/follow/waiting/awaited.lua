-- Reporting the end of tasks to the processes that wait for it.
--
-- `awaited` maps the id of such a task to `instance=mark;` of each process that waits for it (see `await.lua`). Most often
-- it is empty, and nothing is gathered. One call looks up all tasks of a batch, however many others are awaited.

-- Sends each waiting process one message with those of these tasks, or groups of boards, that it awaits by an entry of
-- `key`, and forgets them.
local function notify_waiting(key, ids)
  local ended, told = {}, {}
  for first = 1, #ids, 1000 do
    local waiting = call('HMGET', key, unpack(ids, first, min(first + 999, #ids)))
    for i, instances in ipairs(waiting) do
      local id = ids[first + i - 1]
      if instances then
        ended[#ended + 1] = id
      end
      for instance in string.gmatch(instances or '', '(%w+)=') do
        local message = told[instance] or { 'done' }
        message[#message + 1] = id
        told[instance] = message
      end
    end
  end
  spread('HDEL', key, ended)
  for instance, message in pairs(told) do
    call('PUBLISH', P .. 'instance:' .. instance, table.concat(message, ' '))
  end
end

local function notify_ended(ids)
  notify_waiting(P .. 'awaited', ids)
end
