-- The effect of the ends of tasks on those that wait for them, as in `dependency.rs`.

-- include edges parents

-- How many edges of an ended task are read, at least one more than a step signals.
local MOST_READ = '401'

-- How many predecessors this step may still release.
local releases_left = 1000

-- By policy: the ends that abort the successor.
local ABORTS = {
  [@policy.abort_successors] = '[^' .. @state.completed .. ']',
  [@policy.run_with_failures] = '^$',
  [@policy.run_on_error] = '[' .. @state.completed .. @state.cancelled .. ']',
}

local function aborts(policy, status)
  return string.find(status, ABORTS[policy]) ~= nil
end

-- Deletes the edges of a task from before a revision: it no longer waits for any predecessor.
local function drop_edges(id, before)
  local entries, others = edges_of(IN, id, before, -1), {}
  for i, entry in ipairs(entries) do
    local _, since, on, policy = read_edge(entry)
    others[i] = edge_entry(on, since, id, policy)
  end
  spread('ZREM', IN, entries)
  spread('ZREM', OUT, others)
end

-- A waiting task joins the end of its queue, or waits for its time.
local function release(queue, id, record, revision)
  local ready_at, numbers = sub(record, @lease.ready_at), revision .. revision
  local rest = sub(record, @lease.started_at.at)
  if ready_at > STAMP then
    push(records, id, @state.scheduled .. numbers .. ready_at .. rest)
    push(queue.later, format('%.0f', (unpack_at('>I7', record, @lease.ready_at.at))), id)
  else
    push(records, id, @state.submitted .. numbers .. STAMP .. rest)
    local is_suspect = byte(record, @lease.suspicion.at) ~= @suspicion.none.byte
    if is_suspect then
      -- It ran before dependencies were added to it.
      queue.suspects = queue.suspects or {}
    end
    push(is_suspect and queue.suspects or queue.ready, score_of(sub(record, @lease.priority), revision), id)
  end
end

-- Notes the predecessor that aborts a task: how it ended, and its id; empty for a signal from outside.
local function note_aborted_by(id, cause)
  local counts = call('HGET', COUNTS, id) or write_counts(0, 0)
  call('HSET', COUNTS, id, sub(counts, 1, @dependent.signals.last) .. cause .. signals_in(counts))
end

-- Moves tasks that waited, in this order: {id, record, and for an aborted one the state and id of its predecessor}.
local function leave_waiting(moves)
  local high, low, next_high = take_numbers(#moves)
  local left = {}
  for i, move in ipairs(moves) do
    local id, record, cause = unpack(move)
    local name, revision = queue_of(record), number_at(high, low, next_high, i - 1)
    left[name] = left[name] or {}
    left[name][#left[name] + 1] = id
    if cause then
      note_aborted_by(id, cause)
      if sized then
        note_out(name, { id })
      end
      finish(gathered(name), id, record, @state.aborted, revision, @flag.no, @by.store, NO_NUMBER)
    else
      release(gathered(name), id, record, revision)
    end
  end
  for name, ids in pairs(left) do
    spread('ZREM', of(name, 'd'), ids)
  end
end

local function is_before(a, b)
  return a.since < b.since or a.since == b.since and a.on < b.on
end

-- include end_signals

-- Signals edges, and moves the tasks that no longer wait, or are aborted.
local function signal(round)
  table.sort(round, is_before)
  local gone_in, gone_out, ids, seen = {}, {}, {}, {}
  for i, edge in ipairs(round) do
    gone_in[i] = edge_entry(edge.id, edge.since, edge.on, edge.policy)
    gone_out[i] = edge_entry(edge.on, edge.since, edge.id, edge.policy)
    if not seen[edge.id] then
      seen[edge.id], ids[#ids + 1] = true, edge.id
    end
  end
  spread('ZREM', IN, gone_in)
  spread('ZREM', OUT, gone_out)
  local stored, counts, has_moved, moves, counted = {}, {}, {}, {}, {}
  local records_of_ids, counts_of_ids = read_values(T, ids), read_values(COUNTS, ids)
  for i, id in ipairs(ids) do
    stored[id], counts[id] = records_of_ids[i], counts_of_ids[i]
  end
  local deleted, timeouts = {}, {}
  for _, edge in ipairs(round) do
    local id, record = edge.id, stored[edge.id]
    if record and byte(record) == @state.waiting.byte and counts[id] and not has_moved[id] then
      local total, signals = read_counts(counts[id])
      local is_deleted = edge.status == @gone.deleted or edge.status == @gone.cascade
      local is_aborted = not is_deleted and aborts(edge.policy, edge.status)
      if is_deleted then
        total = total - 1
      else
        signals = signals + 1
      end
      local external = signals_in(counts[id])
      counts[id], counted[id] = write_counts(total, signals) .. external, true
      if is_aborted or signals >= total then
        local list = edge.status == @gone.cascade and deleted or moves
        has_moved[id], list[#list + 1] = true, { id, record, is_aborted and edge.status .. edge.on or nil }
      elseif external ~= '' and count_open(external) == total - signals then
        local awaited, before = read_signals(counts[id])
        counts[id] = write_signals(before, with_timeouts(id, awaited, timeouts))
      end
    end
  end
  local written = {}
  for id in pairs(counted) do
    push(written, id, counts[id])
  end
  spread('HSET', COUNTS, written)
  spread('ZADD', TIMEOUTS, timeouts)
  if #moves > 0 then
    leave_waiting(moves)
  end
  if #deleted > 0 then
    -- include cascade
    delete_waiting(deleted)
  end
end

-- Lets tasks that are over go of the predecessors they hold, while this step may. Leaves the rest to later steps.
local function release_ended(ended, lists)
  local ids, places, is_listed = {}, {}, {}
  for i, task in ipairs(ended) do
    -- A task that was sent again may have ended twice.
    if lists[i] and byte(lists[i], @parents.holds.at) == @flag.yes.byte and not is_listed[task.id] then
      is_listed[task.id], ids[#ids + 1], places[#places + 1] = true, task.id, i
    end
  end
  local released, changes = {}, {}
  for i, record in ipairs(read_values(T, ids)) do
    local task, list = ended[places[i]], lists[places[i]]
    if record and is_over(record) and releases_left > 0 then
      push(released, task.id, @flag.no .. sub(list, @parents.rest.at))
      releases_left = releases_left - note_holders(changes, list, -1)
    elseif record and is_over(record) then
      call('ZADD', DUE, 0, task.before .. task.status .. task.id)
    end
  end
  spread('HSET', PARENTS, released)
  change_holders(changes)
end

-- Signals the ends that were noted, and those that follow from them, round by round, while signals are left for this
-- step. Leaves the rest to later steps.
local function signal_ended()
  while ended_links[1] do
    local ended, round, ids = ended_links, {}, {}
    ended_links = {}
    for i, task in ipairs(ended) do
      ids[i] = task.id
    end
    release_ended(ended, read_values(PARENTS, ids))
    for _, task in ipairs(ended) do
      if task.has_waited then
        drop_edges(task.id, task.before)
        if not task.is_gone then
          drop_signals(task.id)
        end
      end
    end
    for _, task in ipairs(ended) do
      local entries = edges_of(OUT, task.id, task.before, signals_left > 0 and MOST_READ or '1')
      if #entries > signals_left then
        call('ZADD', DUE, 0, task.before .. task.status .. task.id)
      end
      local count = min(#entries, signals_left)
      for i = 1, count do
        local on, since, id, policy = read_edge(entries[i])
        round[#round + 1] = { on = on, since = since, id = id, policy = policy, status = task.status }
      end
      signals_left = signals_left - count
    end
    if #round > 0 then
      signal(round)
    end
    flush_moves(true)
  end
end
