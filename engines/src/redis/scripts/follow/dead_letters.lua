#!lua flags=no-writes
-- The oldest copies of the outbox, from a revision on.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 a limit, 3 at most about how many bytes, or one copy,
-- 4 the revision (15 digits).
-- Returns {the present, how many there are, revision and id, copy or nothing if it is lost, …}.

-- include base

local outbox, answer, bytes = P .. 'o', {}, 0
answer[1], answer[2] = NOW, call('HLEN', outbox)
local limit = tonumber(ARGV[2])
local keys = limit > 0 and call('ZRANGEBYLEX', outbox .. ':order', '[' .. ARGV[4], '+', 'LIMIT', 0, limit) or {}
for _, key in ipairs(keys) do
  local copy = call('HGET', outbox, key) or ''
  bytes = bytes + #copy
  if #answer > 2 and bytes > tonumber(ARGV[3]) then
    break
  end
  answer[#answer + 1] = key
  answer[#answer + 1] = copy
end
return answer
