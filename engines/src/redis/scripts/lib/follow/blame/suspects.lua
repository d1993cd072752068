-- Claims suspects: a worker starts few of them at a time (common's `suspicion.rs`). Included, behind `held`, `aside` and
-- `claim`, only if a queue has suspects.

-- How many suspects of a queue one claim looks at.
local MAX_SUSPECTS = 1000

local function leave_suspects(name, ids, places)
  spread('ZREM', of(name, 'p'), ids)
  spread('ZREM', of(name, 'y'), places)
end

-- Takes ready suspects of a queue, at most `limit`, as many as the worker may hold beside those it has on probation. `ask`
-- returns the gate that holds a task back, if the queue has limits by key or by task, or the claim refuses kinds.
-- Returns their ids, or nil for none; and when the first probation ends that holds others back.
local function take_suspects(name, worker, limit, ask)
  local first, last = bounds_of(@gate.suspect)
  local places, ids = call('ZRANGEBYLEX', of(name, 'y'), first, last, 'LIMIT', 0, MAX_SUSPECTS), {}
  if not places[1] then
    call('SREM', P .. 'suspects', name)
    return nil, math.huge
  end
  local scores = {}
  for i, place in ipairs(places) do
    scores[i], ids[i] = read_place(@gate.suspect, place)
  end
  local held, taken, left, shut, joins_at = held_by(worker), {}, {}, {}, math.huge
  for i, record in ipairs(call('HMGET', T, unpack(ids))) do
    if #taken == limit then
      break
    end
    if record and not may_add(held, (suspicion_in(record))) then
      joins_at = held.first_end
    elseif record then
      local gate = ask and ask(name, ids[i], record)
      local is_refused = gate and byte(gate) == @gate.unknown.byte
      if not is_refused then
        left[#left + 1] = places[i]
      end
      if is_refused then
        -- It waits at its place: suspects are set aside already.
      elseif gate then
        shut[#shut + 1] = 0
        shut[#shut + 1] = aside_place(gate, scores[i], ids[i])
      else
        count_held(held, record, now)
        taken[#taken + 1] = ids[i]
      end
    end
  end
  leave_suspects(name, taken, left)
  spread('ZADD', of(name, 'y'), shut)
  hold(worker, taken)
  return taken[1] and taken, joins_at
end
