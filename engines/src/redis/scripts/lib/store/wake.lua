-- Wakes idle workers.
--
-- A worker whose claim left no task for it is in `w` of its queues that are not paused as `worker@instance`, the one that waits
-- longest first. Each is notified once and removed. An entry without a listener (its process is gone) does not count.
--
-- A worker that could claim but for the queue's max_concurrent is in `b` instead, and is notified when a task ends.

local MAX_WAKES, MAX_TRIES, MAX_PIECES = 4, 64, 16
-- Whether any queue has limits, and whether any limits its waiting bytes; also whether any worker refuses kinds of
-- tasks. Most often none does, and nothing more is read. A key that is named three times counts three times.
local picky = P .. 'picky'
local kept = call('EXISTS', P .. 'limits', P .. 'sizes', picky, picky, picky)
local limited, sized, has_picky = kept % 3 > 0, kept % 3 == 2, kept >= 3
local note_in, note_out, is_sized, bytes_in, bytes_stored
if sized then
  -- include spread records sizes
end
-- For scripts that end tasks while queues may have limits by key or by task: handles the ended tasks.
local on_ended

-- Wakes the worker of an entry of `w` or `b`. Returns whether a process listens.
local function wake_waiting_worker(sleeper)
  local worker, instance = string.match(sleeper, '^(.*)@(.*)$')
  return call('PUBLISH', P .. 'instance:' .. instance, 'wake ' .. worker) > 0
end

-- Wakes workers if some refuse kinds of tasks: these come last, because the tasks may be of such a kind. For the gate of
-- a kind that all the tasks have, wakes only workers that do not refuse it.
local function wake_picky(waiting, queue, count, gate)
  local left = count
  for piece = 0, MAX_PIECES - 1 do
    local sleepers = call('ZRANGE', waiting, piece * MAX_TRIES, (piece + 1) * MAX_TRIES - 1)
    local workers, first, last = {}, {}, {}
    for i, sleeper in ipairs(sleepers) do
      workers[i] = string.match(sleeper, '^(.*)@')
    end
    for i, refused in ipairs(workers[1] and call('HMGET', picky, unpack(workers)) or {}) do
      if not refused then
        first[#first + 1] = sleepers[i]
      elseif not (gate and string.find(refused, '\0' .. queue .. '\0' .. gate .. '\0', 1, true)) then
        last[#last + 1] = sleepers[i]
      end
    end
    for _, group in ipairs({ first, last }) do
      for i = 1, #group do
        if left > 0 then
          call('ZREM', waiting, group[i])
          left = left - (wake_waiting_worker(group[i]) and 1 or 0)
        end
      end
    end
    if left == 0 or #sleepers < MAX_TRIES then
      return
    end
  end
end

-- Wakes at most this number of workers that wait in a queue; with a gate, for tasks of its kind or that are set aside behind
-- it.
local function wake(queue, count, part, gate)
  local waiting = of(queue, part or 'w')
  local left = min(count, MAX_WAKES)
  if has_picky and not part then
    return wake_picky(waiting, queue, left, gate)
  end
  for _ = 1, MAX_TRIES do
    if left == 0 then
      return
    end
    local first = call('ZPOPMIN', waiting)[1]
    if not first then
      return
    end
    if wake_waiting_worker(first) then
      left = left - 1
    end
  end
end
