#!lua flags=no-writes
-- Runs by the time of their creation.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 the state they are in, or nothing, 3 the command that reads the order:
-- one way or the other, 4 and 5 from where to where, 6 at most how many.
-- Answers them as they are stored.

-- include base

local order = ARGV[2] == '' and P .. 'workflows:order' or P .. 'workflows:state:' .. ARGV[2]
local placed = call(ARGV[3], order, ARGV[4], ARGV[5], 'LIMIT', 0, ARGV[6])
for i, place in ipairs(placed) do
  placed[i] = sub(place, @run_place.rest.at)
end
return placed[1] and call('HMGET', P .. 'workflows', unpack(placed)) or placed
