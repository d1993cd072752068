-- What every script needs: short names, the prefix of all keys, the current time.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. ARGV[1] is the current time in microseconds, or empty for the server's
-- own clock.

local call, sub, byte, format, min = redis.call, string.sub, string.byte, string.format, math.min
local pack, unpack_at = struct.pack, struct.unpack
local P = KEYS[1]

local now
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
else
  now = tonumber(ARGV[1])
end
