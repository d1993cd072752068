-- Accepts tasks that are all alike, new, and ready at once, as `submit.lua` describes them; leaves all others to the
-- code that follows. Makes few functions and texts, because a task may come alone.

-- include clock
local queue_key, count = P .. 'q:' .. ARGV[5] .. ':', tonumber(ARGV[9])
-- Whether any queue has limits or workers wait in this one. A key that is named three times counts three times.
local waiting = queue_key .. 'w'
local kept = call('EXISTS', P .. 'limits', P .. 'sizes', waiting, waiting, waiting)
local is_plain = kept % 3 == 0 and call('ZSCORE', P .. 'queues', ARGV[5])
local ids, first_id = {}, 10
for i = 1, is_plain and count or 0 do
  ids[i] = ARGV[first_id + 2 * i - 2]
end
-- The record of a task that comes alone is refused when it is written if the id is taken.
if is_plain and count > 1 then
  local stored = call('HMGET', P .. 't', unpack(ids))
  for i = 1, count do
    is_plain = is_plain and not stored[i]
  end
end
if is_plain and ARGV[8] ~= '' then
  local tombstones = call('HMGET', P .. 'e', unpack(ids))
  for i = 1, count do
    is_plain = is_plain and not tombstones[i]
  end
end
if is_plain then
  -- include digits take
  local stamp = pack('>I7', now)
  if count == 1 then
    local position = high .. sub(THREE, 3 * low + 1, 3 * low + 3)
    is_plain = call('HSETNX', P .. 't', ids[1], @state.fresh .. position .. stamp .. ARGV[11]) == 1
      and call('RPUSH', queue_key .. 'q', position .. ids[1])
  else
    local records, lane = {}, {}
    for i = 1, count do
      local leading, place = high, low + i - 1
      if place >= 1000 then
        leading, place = next_high, place - 1000
      end
      local position = leading .. sub(THREE, 3 * place + 1, 3 * place + 3)
      records[2 * i - 1], records[2 * i] = ids[i], @state.fresh .. position .. stamp .. ARGV[first_id + 2 * i - 1]
      lane[i] = position .. ids[i]
    end
    for first = 1, count, 500 do
      local last = min(first + 499, count)
      call('HSET', P .. 't', unpack(records, 2 * first - 1, 2 * last))
      call('RPUSH', queue_key .. 'q', unpack(lane, first, last))
    end
  end
  if is_plain then
    call('HINCRBY', queue_key .. 'n', 'accepted', ARGV[9])
    local counter, growth, bucket, tasks = @history.accepted, ARGV[9], nil, nil
    -- include history
    if kept > 0 then
      -- include keys wake
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
