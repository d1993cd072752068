-- Accepts tasks that are all alike, new, and ready at once, as `submit.lua` describes them; leaves all others to the
-- code that follows. Creates few functions, because a task may come alone.

local key_of_queue, count = KEYS[1] .. 'q:' .. ARGV[5] .. ':', tonumber(ARGV[9])
-- Whether any queue has limits or workers wait in this one. A key that is named three times counts three times.
local waiting = key_of_queue .. 'w'
local kept = redis.call('EXISTS', KEYS[1] .. 'limits', KEYS[1] .. 'sizes', waiting, waiting, waiting)
local is_plain = kept % 3 == 0 and redis.call('ZSCORE', KEYS[1] .. 'queues', ARGV[5])
local ids, first_id = {}, 10
for i = 1, is_plain and count or 0 do
  ids[i] = ARGV[first_id + 2 * i - 2]
end
-- The record of a task that comes alone is refused when it is written if the id is taken.
if is_plain and count > 1 then
  local stored = redis.call('HMGET', KEYS[1] .. 't', unpack(ids))
  for i = 1, count do
    is_plain = is_plain and not stored[i]
  end
end
if is_plain and ARGV[8] ~= '' then
  local tombstones = redis.call('HMGET', KEYS[1] .. 'e', unpack(ids))
  for i = 1, count do
    is_plain = is_plain and not tombstones[i]
  end
end
if is_plain then
  -- include time counter
  local high, low, next_high = take_numbers(count)
  if count == 1 then
    local position = high .. three(low)
    is_plain = call('HSETNX', T, ids[1], @state.fresh .. position .. STAMP .. ARGV[11]) == 1
      and call('RPUSH', key_of_queue .. 'q', position .. ids[1])
  else
    local records, lane = {}, {}
    for i = 1, count do
      local leading, place = high, low + i - 1
      if place >= 1000 then
        leading, place = next_high, place - 1000
      end
      local position = leading .. sub(THREE, 3 * place + 1, 3 * place + 3)
      records[2 * i - 1], records[2 * i] = ids[i], @state.fresh .. position .. STAMP .. ARGV[first_id + 2 * i - 1]
      lane[i] = position .. ids[i]
    end
    for first = 1, count, 500 do
      local last = min(first + 499, count)
      call('HSET', T, unpack(records, 2 * first - 1, 2 * last))
      call('RPUSH', key_of_queue .. 'q', unpack(lane, first, last))
    end
  end
  if is_plain then
    call('HINCRBY', key_of_queue .. 'n', 'accepted', count)
    -- include history
    note_history(key_of_queue, { @history.accepted, count })
    if kept > 0 then
      -- include wake
      local gate
      if has_picky then
        -- include alike
        gate = gate_in_common(ids)
      end
      wake(ARGV[5], count, nil, gate)
    end
    return { 1 }
  end
end
