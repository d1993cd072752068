-- Waking idle workers.
--
-- A worker whose claim came back empty stands in `w` of its queues as `worker@instance`, the longest waiting first. Each
-- is told once and taken out; one that nobody listens for any more (its process is gone) does not count.

local MAX_WAKES, MAX_TRIES = 4, 64

local function wake(queue, count)
  local waiting = of(queue, 'w')
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
