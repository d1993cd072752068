-- Names and time, shared by all scripts.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. Every key begins with it, so all of them share its hash tag and
-- lie in one slot; their names are built here and nowhere else in Lua. `keys.rs` documents what each key holds.
-- ARGV[1] is the present in microseconds, or empty for the server's own clock. A script's own arguments follow.
--
-- What is included creates its functions each time it is passed, at a tenth of a microsecond each: a script that is
-- called often includes the rest only in the branch that needs it.

local call, sub, byte, format, min = redis.call, string.sub, string.byte, string.format, math.min
local P, NO_TIME = KEYS[1], '0000000000000000'
-- By id: records, states, carries, bodies, errors, news.
local T, M, A, B, H, X = P .. 't', P .. 'm', P .. 'a', P .. 'b', P .. 'h', P .. 'x'

-- The key of a part of a queue: r ready, s scheduled, l leases, f finished, w and b waiting workers, n counters,
-- g a rate's mark, i the mark of the rate of submissions, z what waiting tasks count in bytes.
local function of(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end

-- The present, as a number and as 16 digits.
local now, NOW
if ARGV[1] == '' then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  NOW = time[1] .. sub('00000' .. time[2], -6)
else
  now = tonumber(ARGV[1])
  NOW = format('%016.0f', now)
end

-- The queue a record names.
local function queue_of(record)
  return sub(record, 42, 41 + sub(record, 39, 41))
end
