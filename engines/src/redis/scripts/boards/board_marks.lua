#!lua flags=no-writes
-- The marks of a board's commits, in their order.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 board.

-- include base board

local marks = call('SMEMBERS', of_board('m', ARGV[2]))
table.sort(marks)
return marks
