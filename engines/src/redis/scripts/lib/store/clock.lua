-- What every script needs: short names, the prefix of all keys, the current time.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. ARGV[1] is the current time in microseconds, or empty for the server's
-- own clock.

local call, sub, byte, format, min = redis.call, string.sub, string.byte, string.format, math.min
local P = KEYS[1]

-- The current time, as a number and as 16 digits.
local now, NOW
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  NOW = time[1] .. sub('00000' .. time[2], -6)
else
  now = tonumber(ARGV[1])
  NOW = format('%016.0f', now)
end
