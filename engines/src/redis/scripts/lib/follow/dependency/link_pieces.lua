-- Stores edges of tasks that wait for many others: pieces of them, in their order. A task counts all its dependencies from the
-- start, so it waits until the last piece is stored and signalled.

-- include records scores dependencies owned

-- About how many edges one call stores.
local EDGES_A_CALL = 250

-- When a task was submitted.
local function submitted_at(record)
  local at = core_at(record) - 1
  return sub(record, at + @core.submitted_at.at, at + @core.submitted_at.last)
end

-- How the predecessors of a piece ended, by place; nothing for live ones, whose records follow. One that is neither stored nor
-- remembered by now counts as cancelled. One that was submitted later than `latest`, if that is given, took the place of the task
-- that the edge names, which counts as aborted: the later one may wait for the task that waits.
local function read_predecessors(ids, latest)
  if not ids[1] then
    return {}, {}
  end
  local ends, live = {}, owned(ids, call('HMGET', T, unpack(ids)))
  local tombstones = call('HMGET', P .. 'e', unpack(ids))
  for i, record in ipairs(live) do
    local tombstone = tombstones[i]
    if not record then
      local is_remembered = tombstone and sub(tombstone, @tombstone.forget_at) > STAMP
      ends[i] = is_remembered and sub(tombstone, @tombstone.state) or @state.cancelled
    elseif latest and submitted_at(record) > latest then
      ends[i] = @state.aborted
    elseif is_over(record) then
      ends[i] = status_of(record)
    end
  end
  return ends, live
end

-- Adds predecessors to those that a waiting task holds.
local function hold_more(id, ids)
  local added, changes = table.concat(ids, ZERO) .. ZERO, {}
  call('HSET', PARENTS, id, (call('HGET', PARENTS, id) or @flag.yes) .. added)
  note_holders(changes, @flag.yes .. added, 1)
  change_holders(changes)
end

-- Stores a piece of the edges of a waiting task. Returns how many edges it has.
local function link_piece(id, since, record, edges, holds, moves)
  local policies, ids, patched, entries_in, entries_out, cause = {}, {}, {}, {}, {}, nil
  for policy, on in string.gmatch(edges, '(%d)([^%z]+)') do
    policies[#policies + 1], ids[#ids + 1] = policy, on
  end
  local counts, timeouts = call('HGET', COUNTS, id), {}
  local total, signals = read_counts(counts)
  -- A restored task has edges that were added later, too.
  local ends, live = read_predecessors(ids, holds and submitted_at(record))
  for i, on in ipairs(ids) do
    local policy, status = policies[i], ends[i]
    if status then
      signals = signals + 1
      cause = cause or aborts(policy, status) and status .. on or nil
    else
      push(entries_in, '0', edge_entry(id, since, on, policy))
      push(entries_out, '0', edge_entry(on, since, id, policy))
      if link_in(live[i]) == @linked.no then
        push(patched, on, with_link(live[i]))
      end
    end
  end
  spread('HSET', T, patched)
  spread('ZADD', IN, entries_in)
  spread('ZADD', OUT, entries_out)
  if holds then
    hold_more(id, ids)
  end
  local awaited = read_signals(counts)
  if not cause and count_open(counts) == total - signals then
    awaited = with_timeouts(id, awaited, timeouts)
  end
  call('HSET', COUNTS, id, write_signals(write_counts(total, signals), awaited))
  spread('ZADD', TIMEOUTS, timeouts)
  if cause or signals >= total then
    add_move(moves, id, record, cause)
    leave_waiting(moves)
    write_moves(true)
  end
  return #ids
end

-- Stores some pieces. One whose task waits no longer, or is another by now, is dropped.
local function link_pieces()
  local room = EDGES_A_CALL
  while room > 0 do
    local piece = call('LPOP', PIECES)
    if not piece then
      return
    end
    local zero = string.find(piece, ZERO, 1, true)
    local since, id = sub(piece, @piece.since), sub(piece, @piece.rest.at, zero - 1)
    local record, count = call('HGET', T, id), 1
    if record and byte(record) == @state.waiting.byte and sub(record, @lease.position) == since then
      local holds = sub(piece, @piece.holds) == @flag.yes
      count = link_piece(id, since, record, sub(piece, zero + 1), holds, new_moves())
    end
    room = room - count
  end
  if call('EXISTS', PIECES) == 1 then
    call('ZADD', DUE, 0, LEFT_DUE)
  end
end
