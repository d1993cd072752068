-- When tasks may start.

-- In the year 2255: times are exact, and have 16 digits, up to here.
local END_OF_TIME = 9e15

-- The time that a `start` says, in microseconds.
local function due_of(start)
  if start == '' then
    return now
  elseif byte(start) == @start.after.byte then
    return min(now + sub(start, @start.rest.at), END_OF_TIME)
  end
  return min(math.max(tonumber(sub(start, @start.rest.at)), now), END_OF_TIME)
end
