#!lua flags=allow-oom
-- Deletes tasks of one queue that are scheduled or submitted.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 queue, 3 at most how many.
-- Answers how many, or -1 for an unknown queue.

-- include base numbers sized over unique aside remove awaited

local name, limit = ARGV[2], tonumber(ARGV[3])
if call('SISMEMBER', P .. 'queues', name) == 0 then
  return -1
end
local ids = call('ZRANGE', of(name, 'r'), 0, limit - 1)
if #ids < limit then
  for _, id in ipairs(call('ZRANGE', of(name, 's'), 0, limit - #ids - 1)) do
    ids[#ids + 1] = id
  end
end
if #ids < limit then
  for _, id in ipairs(call('ZRANGE', of(name, 'p'), 0, limit - #ids - 1)) do
    ids[#ids + 1] = id
  end
end
remove(name, ids, false)
if watched then
  tell_ended(ids)
end
return #ids
