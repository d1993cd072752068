-- Counts what happens in a queue: by minute, and how long tasks waited and ran in the open hour (see `keys.rs`, `m`). A block:
-- `queue_key` begins the queue's keys, `counter` of this minute grows by `growth`; and `bucket` of the open hour by `tasks` if it
-- is not nil. All but `counter` are texts, as the command takes them.

local minute, key = math.floor(now / 60000000), queue_key .. 'm'
local hour, slot = math.floor(minute / 60), @history.first_slot + minute % @history.slots * @history.slot_words
local begins, grows, known = format('#%d', slot), format('#%d', slot + counter), nil
if bucket then
  known = call('BITFIELD', key, 'GET', 'u32', '#0', 'GET', 'u32', begins, 'INCRBY', 'u32', grows, growth,
    'INCRBY', 'u32', bucket, tasks)
else
  known = call('BITFIELD', key, 'GET', 'u32', '#0', 'GET', 'u32', begins, 'INCRBY', 'u32', grows, growth)
end
if known[1] ~= hour or known[2] ~= minute then
  -- include history_turn
end
