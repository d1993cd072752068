#!lua flags=no-writes
-- A page of the groups of a board that hold tasks, in the order of their names.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 board, 3 where to begin: `-` or `(group`, 4 at most how many.
-- Returns {group, how many tasks it holds, …}.

-- include base board

local answer = {}
for _, group in ipairs(call('ZRANGEBYLEX', of_board('n', ARGV[2]), ARGV[3], '+', 'LIMIT', 0, ARGV[4])) do
  answer[#answer + 1] = group
  answer[#answer + 1] = call('ZCARD', places_in(ARGV[2], group))
end
return answer
