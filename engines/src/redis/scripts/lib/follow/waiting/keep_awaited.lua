-- Keeping what processes wait for. A process that waits renews that all the time, which is written only when half the time
-- is over: until then a renewal changes nothing.

local function keep_awaited(instance, alive_for)
  -- By the server's own clock, because the silence of a process is unrelated to the time of tasks.
  local time = call('TIME')
  local present, long = time[1] * 1000 + time[2] / 1000, tonumber(alive_for)
  local awaiting = P .. 'awaiting'
  local until_when = call('ZSCORE', awaiting, instance)
  if not until_when or until_when - present < long / 2 then
    call('ZADD', awaiting, format('%.0f', present + long), instance)
  end
  for _, key in ipairs({ awaiting, P .. 'awaited', P .. 'awaited:groups' }) do
    local left = call('PTTL', key)
    -- -2: it does not exist.
    if left ~= -2 and left < long / 2 then
      call('PEXPIRE', key, alive_for)
    end
  end
  return until_when, present
end
