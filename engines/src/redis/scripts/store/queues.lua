#!lua flags=no-writes
-- Names of queues, in their order.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 where to begin: `-`, `[name` or `(name`, 3 a limit,
-- 4 what they must have: the letter of a part (keys.rs), r for ready tasks wherever they stand, or nothing.
-- Returns {the name at which the walk goes on, or nothing at its end, names, …}.

-- include base

-- How many names one call reads.
local MOST_NAMES = 1000

local part, most = ARGV[4], tonumber(ARGV[3])

local function has_something(name)
  if part == '' then
    return true
  elseif part == 'r' then
    return call('EXISTS', of(name, 'q'), of(name, 'r'), of(name, 'p')) > 0
  end
  return call('EXISTS', of(name, part)) == 1
end

local names = call('ZRANGEBYLEX', P .. 'queues', ARGV[2], '+', 'LIMIT', 0, MOST_NAMES + 1)
local answer = { '' }
for i, name in ipairs(names) do
  if i > MOST_NAMES or #answer > most then
    answer[1] = name
    break
  elseif has_something(name) then
    answer[#answer + 1] = name
  end
end
return answer
