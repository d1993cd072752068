#!lua flags=no-writes
-- The oldest copies of the outbox.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 at most how many, 3 at most about how many bytes, or one copy.
-- Answers {the present, how many there are, revision and id, copy (see moves.lua), …}.

-- include base

local outbox, answer, bytes = P .. 'o', {}, 0
answer[1], answer[2] = NOW, call('HLEN', outbox)
local limit = tonumber(ARGV[2])
local keys = limit > 0 and call('ZRANGE', outbox .. ':order', 0, limit - 1) or {}
for _, key in ipairs(keys) do
  local copy = call('HGET', outbox, key)
  if copy then
    bytes = bytes + #copy
    if #answer > 2 and bytes > tonumber(ARGV[3]) then
      break
    end
    answer[#answer + 1] = key
    answer[#answer + 1] = copy
  end
end
return answer
