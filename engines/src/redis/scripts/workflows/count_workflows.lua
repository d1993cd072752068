#!lua flags=no-writes
-- How many runs there are by state.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 how many states there are.
-- Answers a count per state.

-- include base

local counts = {}
for state = 0, tonumber(ARGV[2]) - 1 do
  counts[#counts + 1] = call('ZCARD', P .. 'workflows:state:' .. state)
end
return counts
