#!lua
-- Gives restored tasks that wait the edges they still had. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time; for each task: id, how many edges it has, and of each the policy and
-- the predecessor's id.
-- Returns how many tasks it linked: those that wait, and had no edges. The edges of a task with many are left to later steps, in
-- pieces; -1 if there are some already, because those may be of these tasks: then it linked none.

-- include base numbers wake moves owned

-- How many edges of a task it stores itself at most; and how many are a piece.
local MOST_AT_ONCE, EDGES_A_PIECE = 500, 250

-- The end of a predecessor; nothing if it is live. One that is neither stored nor remembered counts as cancelled.
local function end_of_predecessor(id)
  local record = call('HGET', T, id)
  if record then
    return is_over(record) and status_of(record) or nil
  end
  local tombstone = call('HGET', P .. 'e', id)
  local is_remembered = tombstone and sub(tombstone, @tombstone.forget_at) > STAMP
  return is_remembered and sub(tombstone, @tombstone.state) or @state.cancelled
end

-- Marks the record of a predecessor, so that its end is signalled.
local function mark_linked(id)
  local record = owned({ id }, { call('HGET', T, id) })[1]
  local at = core_at(record) - 1 + @core.linked.at
  if byte(record, at) == @linked.no.byte then
    call('HSET', T, id, sub(record, 1, at - 1) .. @linked.yes .. sub(record, at + 1))
  end
end

local function link_all()
  -- include dependencies
  local entries_in, entries_out, counts, timeouts, linked = {}, {}, {}, {}, {}

  -- Gathers the edges of a task.
  local function link(id, record, total, signals, first, last)
    local since, task, is_any_live = sub(record, @lease.position), { id = id }, false
    for i = first, last, 2 do
      local policy, on = ARGV[i], ARGV[i + 1]
      local status = end_of_predecessor(on)
      if status then
        signals = signals + 1
        task.cause = task.cause or aborts(policy, status) and status .. on or nil
      else
        push(entries_in, '0', edge_entry(id, since, on, policy))
        push(entries_out, '0', edge_entry(on, since, id, policy))
        mark_linked(on)
        is_any_live = true
      end
    end
    task.is_free = signals == total
    local awaited = read_signals(call('HGET', COUNTS, id))
    if not is_any_live then
      awaited = with_timeouts(id, awaited, timeouts)
    end
    push(counts, id, write_signals(write_counts(total, signals), awaited))
    linked[#linked + 1] = task
  end

  -- Leaves the edges of a task to later steps.
  local function leave_pieces(id, record, first, last)
    local since = sub(record, @lease.position)
    for from = first, last, 2 * EDGES_A_PIECE do
      local edges = {}
      for i = from, min(from + 2 * EDGES_A_PIECE - 1, last), 2 do
        edges[#edges + 1] = ARGV[i] .. ARGV[i + 1] .. ZERO
      end
      call('RPUSH', PIECES, since .. @flag.no .. id .. ZERO .. table.concat(edges))
    end
    call('ZADD', DUE, 0, LEFT_DUE)
    linked[#linked + 1] = { id = id }
  end

  if call('EXISTS', PIECES) == 1 then
    return -1
  end
  local at = 2
  while ARGV[at] do
    local id, count = ARGV[at], tonumber(ARGV[at + 1])
    local record, stored = call('HGET', T, id), call('HGET', COUNTS, id)
    local last = at + 1 + 2 * count
    if record and stored and byte(record) == @state.waiting.byte and not edges_of(IN, id, nil, 1)[1] then
      local total, signals = read_counts(stored)
      if total - signals - count_open(stored) == count and count > MOST_AT_ONCE then
        leave_pieces(id, record, at + 2, last)
      elseif total - signals - count_open(stored) == count then
        link(id, record, total, signals, at + 2, last)
      end
    end
    at = last + 1
  end
  spread('ZADD', IN, entries_in)
  spread('ZADD', OUT, entries_out)
  spread('HSET', COUNTS, counts)
  spread('ZADD', TIMEOUTS, timeouts)

  local moves = new_moves()
  for _, task in ipairs(linked) do
    if task.cause or task.is_free then
      add_move(moves, task.id, call('HGET', T, task.id), task.cause)
    end
  end
  if moves.ids[1] then
    leave_waiting(moves)
    write_moves(true)
  end
  return #linked
end

return link_all()
