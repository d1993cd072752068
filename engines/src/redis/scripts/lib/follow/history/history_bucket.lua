-- Where a time is counted (see history.lua).

local TIME_BOUNDS = @times.bounds_micros

-- The bucket of the time since a moment, in microseconds.
local function bucket_since(moment)
  local time, bucket = now - moment, 0
  while bucket < #TIME_BOUNDS and time >= TIME_BOUNDS[bucket + 1] do
    bucket = bucket + 1
  end
  return bucket
end
