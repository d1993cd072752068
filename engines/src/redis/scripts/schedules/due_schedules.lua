#!lua flags=no-writes
-- The schedules that are due, the longest due first, and when the next one is.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit.
-- Returns {the present, when the next one is due or nothing, those that are due as they are stored, …}.

-- include base

local limit = tonumber(ARGV[2])
local first = call('ZRANGE', P .. 'schedules:due', 0, limit, 'WITHSCORES')
local names, next_at = {}, ''
for i = 1, #first, 2 do
  if tonumber(first[i + 1]) > now or #names == limit then
    next_at = format('%.0f', tonumber(first[i + 1]))
    break
  end
  names[#names + 1] = first[i]
end
local due = names[1] and call('HMGET', P .. 'schedules', unpack(names)) or names
return { NOW, next_at, unpack(due) }
