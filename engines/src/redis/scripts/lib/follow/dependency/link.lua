-- Tasks of a submission that wait for others. Such a submission is the only group of its call, and has no unique keys.

-- include edges

-- By place: {predecessor, policy, its end or nothing, its record if it is stored and live}.
local edges_at = {}
-- By place: the signals from outside that a task waits for; and how many edges a task has that are stored in pieces, and these.
local signals_at, pieces_at = {}, {}

-- The edges of the task at a place: pairs of policy and predecessor.
local function edges_said(run, place)
  local told = run.kind.is_pieced and '' or ARGV[argument_of(run, place) + run.stride - 1]
  return string.gmatch(told, '(%d)([^%z]+)')
end

-- The signals from outside that the task at a place waits for, each as a `signal`.
local function signals_said(run, place)
  local signals = {}
  for told in string.gmatch(run.kind.is_signalled and ARGV[argument_of(run, place) + run.stride - 2] or '', '[^%z]+') do
    signals[#signals + 1] = @signal_state.waiting .. sub(told, @awaited.on_timeout) .. sub(told, @awaited.timeout)
      .. NO_TIME .. NO_TIME .. sub(told, @awaited.rest.at)
  end
  return signals
end

local function enters(place)
  return letters[place] ~= @submitted.existing
end

local function each_linked(group, act)
  for _, run in ipairs(group.runs) do
    for place = run.place, run.kind.is_linked and run.place + run.count - 1 or 0 do
      if enters(place) then
        local refusal = act(run, place)
        if refusal then
          return refusal
        end
      end
    end
  end
end

-- Looks up the predecessors of the tasks of a batch; returns the refusal of the first that waits for an unknown one.
local function find_predecessors(group)
  local place_of, asked, is_asked, records_of_asked, tombstones = {}, {}, {}, {}, {}
  for place, id in ipairs(ids) do
    place_of[id] = place
  end
  each_linked(group, function(run, place)
    for _, on in edges_said(run, place) do
      if not place_of[on] and not is_asked[on] then
        is_asked[on], asked[#asked + 1] = true, on
      end
    end
  end)
  for first = 1, #asked, 1000 do
    local some = { unpack(asked, first, min(first + 999, #asked)) }
    local remembered = call('HMGET', P .. 'e', unpack(some))
    for i, record in ipairs(owned(some, call('HMGET', T, unpack(some)))) do
      records_of_asked[some[i]] = record
      local tombstone = not record and remembered[i]
      if tombstone and sub(tombstone, @tombstone.forget_at) > STAMP then
        tombstones[some[i]] = sub(tombstone, @tombstone.state)
      end
    end
  end
  return each_linked(group, function(run, place)
    local edges = {}
    for policy, on in edges_said(run, place) do
      local within = place_of[on]
      local record = within and stored[within] or records_of_asked[on]
      if within and enters(within) then
        edges[#edges + 1] = { on = on, policy = policy }
      elseif record and is_over(record) then
        edges[#edges + 1] = { on = on, policy = policy, status = status_of(record) }
      elseif record then
        edges[#edges + 1] = { on = on, policy = policy, record = record }
      elseif tombstones[on] then
        edges[#edges + 1] = { on = on, policy = policy, status = tombstones[on] }
      else
        return { 'predecessor', place - 1, on }
      end
    end
    edges_at[place], signals_at[place] = edges, signals_said(run, place)
    if run.kind.is_pieced then
      local told = ARGV[argument_of(run, place) + run.stride - 1]
      pieces_at[place] = { total = tonumber(sub(told, @pieces.total)), told = sub(told, @pieces.rest.at) }
    end
  end)
end

-- Stores the edges of the tasks of a batch, and marks the records of their predecessors as linked.
local function put_edges()
  -- include parents kept_signals
  local are_any_kept = call('EXISTS', KEPT_SIGNALS) == 1
  local entries_in, entries_out, counts, patched, lists, timeouts = {}, {}, {}, {}, {}, {}
  local left = {}
  for place, id in ipairs(ids) do
    local signals, since = 0, number_at(high, low, next_high, place - 1)
    for _, edge in ipairs(edges_at[place] or {}) do
      local record = edge.record
      if edge.status then
        signals = signals + 1
      else
        push(entries_in, '0', edge_entry(id, since, edge.on, edge.policy))
        push(entries_out, '0', edge_entry(edge.on, since, id, edge.policy))
      end
      if record and not patched[edge.on] then
        patched[edge.on] = true
        push(records, edge.on, with_link(record))
      end
    end
    if edges_at[place] then
      local awaited, parents, pieces = signals_at[place], { @flag.yes }, pieces_at[place]
      local received = are_any_kept and awaited[1] and receive_kept(id, awaited) or 0
      local edges_later = 0
      if pieces then
        edges_later = pieces.total
        for piece in string.gmatch(pieces.told, '[^\1]+') do
          left[#left + 1] = since .. @flag.yes .. id .. ZERO .. piece
        end
      elseif signals == #edges_at[place] then
        awaited = with_timeouts(id, awaited, timeouts)
      end
      signals = signals + received
      push(counts, id, write_signals(write_counts(#edges_at[place] + edges_later + #awaited, signals), awaited))
      for i, edge in ipairs(edges_at[place]) do
        parents[i + 1] = edge.on .. ZERO
      end
      if parents[2] or pieces then
        push(lists, id, table.concat(parents))
      end
    end
  end
  spread('ZADD', IN, entries_in)
  spread('ZADD', OUT, entries_out)
  spread('HSET', COUNTS, counts)
  hold_parents(lists)
  spread('ZADD', TIMEOUTS, timeouts)
  if left[1] then
    spread('RPUSH', PIECES, left)
    call('ZADD', DUE, 0, LEFT_DUE)
  end
end

-- Moves the tasks of a batch that still wait, and whose predecessors were over: all of them, or one so that it aborts.
local function move_at_once()
  -- include dependencies
  local moves = new_moves()
  for place, id in ipairs(ids) do
    local is_any_open, cause = pieces_at[place] and true, nil
    for _, signal in ipairs(signals_at[place] or {}) do
      is_any_open = is_any_open or is_open(signal)
    end
    for _, edge in ipairs(edges_at[place] or {}) do
      is_any_open = is_any_open or not edge.status
      cause = cause or edge.status and aborts(edge.policy, edge.status) and edge.status .. edge.on or nil
    end
    local record = edges_at[place] and (cause or not is_any_open) and call('HGET', T, id)
    if record and byte(record) == @state.waiting.byte then
      add_move(moves, id, record, cause)
    end
  end
  if moves.ids[1] then
    leave_waiting(moves)
    write_moves(true)
  end
end
