-- Notifies processes whose callers wait for a group that received a task.
if woken[1] and call('EXISTS', P .. 'awaited:groups') == 1 then
  -- include spread awaited
  local fields = {}
  for i, place in ipairs(woken) do
    fields[i] = place[1] .. '|' .. string.gsub(place[2], '.', function(letter)
      return format('%02x', byte(letter))
    end)
  end
  notify_waiting(P .. 'awaited:groups', fields)
end
