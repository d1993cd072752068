-- Letting tasks that were set aside return. Included behind `aside`.

local function add_pair(list, first, second)
  local count = #list
  list[count + 1], list[count + 2] = first, second
end

-- Lets the next tasks behind a gate return to their places, or among the suspects; returns how many.
local function let_pass(name, gate, count)
  local first, last = bounds_of(gate)
  local places, ids, scores, ready, suspects =
    call('ZRANGEBYLEX', of(name, 'y'), first, last, 'LIMIT', 0, count), {}, {}, {}, {}
  for i, place in ipairs(places) do
    scores[i], ids[i] = read_place(gate, place)
  end
  for i, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
    local waits_as_suspect = record and byte(record) == @state.submitted.byte and suspicion_in(record) > 1
    add_pair(waits_as_suspect and suspects or ready, scores[i], ids[i])
  end
  spread('ZREM', of(name, 'y'), places)
  spread('ZREM', of(name, 'p'), ids)
  spread('ZADD', of(name, 'r'), ready)
  if suspects[1] then
    -- include suspected
    put_suspects(name, suspects)
  end
  if sized then
    note_in(name, ready)
    note_in(name, suspects)
  end
  return #ids
end
