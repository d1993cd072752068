#!lua flags=no-writes
-- The runs with something to do, the longest due first, and when the next one is due.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 at most how many.
-- Answers {the present, when the next one is due or nothing, those that are due as they are stored, …}.

-- include base

local limit = tonumber(ARGV[2])
local first = call('ZRANGE', P .. 'workflows:due', 0, limit, 'WITHSCORES')
local ids, next_at = {}, ''
for i = 1, #first, 2 do
  if tonumber(first[i + 1]) > now or #ids == limit then
    next_at = format('%.0f', tonumber(first[i + 1]))
    break
  end
  ids[#ids + 1] = first[i]
end
local due = ids[1] and call('HMGET', P .. 'workflows', unpack(ids)) or ids
return { NOW, next_at, unpack(due) }
