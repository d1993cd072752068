#!lua flags=no-writes
-- Boards in the order of their names, with their counters and the number of their tasks.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 where to begin: `-` or `(name`, 3 at most how many.
-- Returns {name, the latest revision given, how many tasks it holds, …}.

-- include base board board_run

local answer = {}
for _, board in ipairs(call('ZRANGEBYLEX', P .. 'boards', ARGV[2], '+', 'LIMIT', 0, ARGV[3])) do
  answer[#answer + 1] = board
  answer[#answer + 1] = format('%.0f', (skipped or 0) + (call('GET', of_board('c', board)) or 0))
  answer[#answer + 1] = call('HLEN', of_board('t', board))
end
return answer
