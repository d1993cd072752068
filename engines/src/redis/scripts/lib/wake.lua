-- Waking idle workers.
--
-- A worker whose claim came back empty stands in `w` of its queues as `worker@instance`, the longest waiting first. Each
-- is told once and taken out; one that nobody listens for any more (its process is gone) does not count.

--
-- One that could have claimed but for the queue's max_concurrent stands in `b` instead, and is told when a task ends.

local MAX_WAKES, MAX_TRIES = 4, 64
-- Whether any queue has limits, and whether any limits the bytes that wait in it. Most often none has, and nothing more is
-- asked.
local kept_limits = call('EXISTS', P .. 'limits', P .. 'sizes')
local limited, sized = kept_limits > 0, kept_limits == 2
local note_in, note_out, is_sized, bytes_in, bytes_stored
if sized then
  -- include records sizes
end
-- Where tasks end and queues may have limits by key or by task: what is to be done about those that ended.
local on_ended

local function wake(queue, count, part)
  local waiting = of(queue, part or 'w')
  local left = min(count, MAX_WAKES)
  for _ = 1, MAX_TRIES do
    if left == 0 then
      return
    end
    local first = call('ZPOPMIN', waiting)[1]
    if not first then
      return
    end
    local worker, instance = string.match(first, '^(.*)@(.*)$')
    if call('PUBLISH', P .. 'instance:' .. instance, 'wake ' .. worker) > 0 then
      left = left - 1
    end
  end
end
