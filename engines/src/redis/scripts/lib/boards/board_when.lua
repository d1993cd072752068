-- Times as commits name them.

-- Most spans of a call are the same.
local resolved = {}

-- The time that a caller means.
local function resolve(said)
  if byte(said) == @when_kind.at.byte then
    return sub(said, @when.rest.at)
  end
  local time = resolved[said] or time_after(PRESENT, sub(said, @when.rest.at))
  resolved[said] = time
  return time
end
