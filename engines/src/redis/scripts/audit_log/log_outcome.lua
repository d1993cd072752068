#!lua flags=allow-oom
-- Notes the outcome of a logged change, unless it has one. With `allow-oom`, as what logged it.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id, 3 outcome.
-- Returns 1, or 0 if the change is not logged.

-- include base

local changes = P .. 'changes'
if call('HEXISTS', changes, ARGV[2]) == 0 then
  return 0
end
call('HSETNX', changes .. ':outcomes', ARGV[2], ARGV[3])
return 1
