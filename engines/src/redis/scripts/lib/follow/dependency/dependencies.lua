-- The effect of the ends of tasks on those that wait for them, as in `dependency.rs`.

-- include edges parents

-- How many edges of an ended task are read, at least one more than a step signals.
local MOST_READ = '201'

-- How many predecessors this step may still release, and how many edges of tasks that end it may still delete.
local releases_left, drops_left = 1000, 500

-- Whether the end of a predecessor aborts the successor.
local function aborts(policy, status)
  if policy == @policy.abort_successors then
    return status ~= @state.completed
  end
  return policy == @policy.run_on_error and (status == @state.completed or status == @state.cancelled)
end

-- Deletes the edges of a task from before a revision, while this step may: it no longer waits for any predecessor. Those that
-- are left to later steps are older than the place it has when it waits again, so their signals do not count.
local function drop_edges(id, before)
  local entries, others = edges_of(IN, id, before, drops_left + 1), {}
  if #entries > drops_left then
    entries[#entries] = nil
    call('ZADD', DUE, 0, before .. @gone.waited .. id)
  end
  drops_left = drops_left - #entries
  for i, entry in ipairs(entries) do
    local _, since, on, policy = read_edge(entry)
    others[i] = edge_entry(on, since, id, policy)
  end
  spread('ZREM', IN, entries)
  spread('ZREM', OUT, others)
end

-- Notes the predecessor that aborts a task: how it ended, and its id; empty for a signal from outside.
local function note_aborted_by(id, cause)
  local counts = call('HGET', COUNTS, id) or write_counts(0, 0)
  call('HSET', COUNTS, id, sub(counts, 1, @dependent.signals.last) .. cause .. signals_in(counts))
end

-- Moves of tasks that waited, in their order. For an aborted one, `cause` is the state and id of its predecessor.
local function new_moves()
  return { ids = {}, records = {}, causes = {} }
end

local function add_move(moves, id, record, cause)
  local place = #moves.ids + 1
  moves.ids[place], moves.records[place], moves.causes[place] = id, record, cause or false
end

-- Moves waiting tasks. One that is released joins the end of its queue, or waits for its time; a spontaneous one ends.
local function leave_waiting(moves)
  local find, high, low, next_high = string.find, take_numbers(#moves.ids)
  local shape, name, queue, ready_at, is_early, left = nil, nil, nil, nil, nil, {}
  for i, id in ipairs(moves.ids) do
    local record, cause, revision = moves.records[i], moves.causes[i], number_at(high, low, next_high, i - 1)
    -- Most often they are of one queue, and due at one time.
    if not shape or find(record, shape, @lease.queue_length.at, true) ~= @lease.queue_length.at then
      local queue_last = @lease.queue.at - 1 + byte(record, @lease.queue_length.at)
      shape, name = sub(record, @lease.queue_length.at, queue_last), sub(record, @lease.queue.at, queue_last)
      queue, left[name] = gathered(name), left[name] or {}
    end
    left[name][#left[name] + 1] = id
    if sub(record, @lease.ready_at) ~= ready_at then
      ready_at = sub(record, @lease.ready_at)
      is_early = ready_at > STAMP
    end
    if cause then
      note_aborted_by(id, cause)
      if sized then
        note_out(name, { id })
      end
      finish(queue, id, record, @state.aborted, revision, @flag.no, @by.store, NO_NUMBER)
    elseif byte(record, @lease.linked.at) == @linked.spontaneous.byte then
      if sized then
        note_out(name, { id })
      end
      local high_length, low_length = byte(record, @lease.open_length)
      finish(queue, id, record, @state.completed, revision, @flag.no, @by.store, NO_NUMBER, '',
        @lease.queue.at - 1 + high_length * 256 + low_length)
    elseif is_early then
      push(records, id, @state.scheduled .. revision .. revision .. sub(record, @lease.ready_at.at))
      push(queue.later, format('%.0f', (unpack_at('>I7', record, @lease.ready_at.at))), id)
    else
      push(records, id, @state.submitted .. revision .. revision .. STAMP .. sub(record, @lease.started_at.at))
      local part = 'ready'
      if suspicion_in(record) > 1 then
        -- It ran before dependencies were added to it.
        part, queue.suspects = 'suspects', queue.suspects or {}
      end
      push(queue[part], score_of(sub(record, @lease.priority), revision), id)
    end
  end
  for of_queue, ids in pairs(left) do
    spread('ZREM', of(of_queue, 'd'), ids)
  end
end

-- include end_signals

-- Edges that are signalled together. What is known of each is in these lists, at one place.
local function new_round()
  return { tasks = {}, ids = {}, since = {}, policies = {}, entries_in = {}, entries_out = {} }
end

-- Adds the first `count` entries that `g:out` has of a task that ended.
local function add_to_round(round, task, entries, count)
  local tasks, ids, all_since, policies, ins, outs =
    round.tasks, round.ids, round.since, round.policies, round.entries_in, round.entries_out
  local edge_at, last = #task.id + #ZERO, #ids
  local since_at, since_last, id_at = edge_at + @edge.since.at, edge_at + @edge.since.last, edge_at + @edge.rest.at
  for i = 1, count do
    local entry, place = entries[i], last + i
    local since, id, policy = sub(entry, since_at, since_last), sub(entry, id_at, -3), sub(entry, -1)
    tasks[place], ids[place], all_since[place], policies[place] = task, id, since, policy
    ins[place], outs[place] = edge_entry(id, since, task.id, policy), entry
    round.is_mixed = round.is_mixed or task.status ~= @state.completed or policy == @policy.run_on_error
  end
end

-- The places of a round in the order in which its edges were made. Of those of one task that were made together, the order
-- matters only if they differ in their effect.
local function in_order(round)
  local since, ids, tasks, places, is_sorted = round.since, round.ids, round.tasks, {}, true
  for i = 1, #since do
    places[i] = i
    is_sorted = is_sorted and (i == 1 or since[i - 1] == since[i] and ids[i - 1] == ids[i] and not round.is_mixed
      or since[i - 1] < since[i])
  end
  if not is_sorted then
    table.sort(places, function(a, b)
      return since[a] < since[b] or since[a] == since[b] and tasks[a].id < tasks[b].id
    end)
  end
  return places
end

-- Signals edges, and moves the tasks that no longer wait, or are aborted.
local function signal(round)
  local ids, place_of, places = {}, {}, {}
  for i, id in ipairs(round.ids) do
    local place = place_of[id]
    if not place then
      place = #ids + 1
      ids[place], place_of[id] = id, place
    end
    places[i] = place
  end
  spread('ZREM', IN, round.entries_in)
  spread('ZREM', OUT, round.entries_out)
  local stored, counts, moves, deleted, timeouts = read_values(T, ids), read_values(COUNTS, ids), new_moves(), {}, {}
  local totals, signals, has_moved, positions = {}, {}, {}, {}
  for place, record in ipairs(stored) do
    if record and counts[place] and byte(record) == @state.waiting.byte then
      totals[place], signals[place] = read_counts(counts[place])
      positions[place] = sub(record, @lease.position)
    end
  end
  for _, i in ipairs(in_order(round)) do
    local place, task = places[i], round.tasks[i]
    local total, count, status = totals[place], signals[place], task.status
    if total and not has_moved[place] and round.since[i] >= positions[place] then
      local is_deleted = status == @gone.deleted or status == @gone.cascade
      if is_deleted then
        total = total - 1
        totals[place] = total
      else
        count = count + 1
        signals[place] = count
      end
      local is_aborted = not is_deleted and aborts(round.policies[i], status)
      if is_aborted or count >= total then
        has_moved[place] = true
        if status == @gone.cascade then
          deleted[#deleted + 1] = { ids[place], stored[place] }
        else
          add_move(moves, ids[place], stored[place], is_aborted and status .. task.id)
        end
      end
    end
  end
  local written = {}
  for place, total in pairs(totals) do
    local counted = write_counts(total, signals[place])
    if #counts[place] > #counted then
      local external = signals_in(counts[place])
      if not has_moved[place] and count_open(external) == total - signals[place] then
        external = write_signals('', with_timeouts(ids[place], read_signals(external), timeouts))
      end
      counted = counted .. external
    end
    push(written, ids[place], counted)
  end
  spread('HSET', COUNTS, written)
  spread('ZADD', TIMEOUTS, timeouts)
  if moves.ids[1] then
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
    if record and is_over(record) and #list > LONG_LIST then
      push(released, task.id, @flag.no .. sub(list, @parents.rest.at))
      leave_list(list)
    elseif record and is_over(record) and releases_left > 0 then
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
    local ended, round, ids = ended_links, new_round(), {}
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
    local unsent = call('EXISTS', UNSENT) == 1 and read_values(UNSENT, ids) or {}
    for i, task in ipairs(ended) do
      -- A task that only has edges left to delete is waited for by none.
      local has_ended = task.status ~= @gone.waited
      -- The ends in `g:due` come in their order, so an earlier one has no edges left by then.
      local from = not task.was_put_off and unsent[i] or nil
      local entries = has_ended and edges_of(OUT, task.id, task.before, signals_left > 0 and MOST_READ or '1', from) or {}
      if #entries > signals_left then
        put_off_end(task.id, task.status, task.before)
      elseif has_ended and unsent[i] == task.before then
        call('HDEL', UNSENT, task.id)
      end
      local count = min(#entries, signals_left)
      add_to_round(round, task, entries, count)
      signals_left = signals_left - count
    end
    if round.ids[1] then
      signal(round)
    end
    flush_moves(true)
  end
end
