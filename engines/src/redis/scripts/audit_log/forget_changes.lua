#!lua flags=allow-oom
-- Deletes logged changes that are as they were read.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- id, and 1 if it had an outcome or 0.

-- include base

local changes = P .. 'changes'
for i = 2, #ARGV, 2 do
  local id = ARGV[i]
  if call('HEXISTS', changes .. ':outcomes', id) == tonumber(ARGV[i + 1]) then
    call('HDEL', changes, id)
    call('HDEL', changes .. ':outcomes', id)
    call('ZREM', changes .. ':order', id)
  end
end
return 0
