-- The audit of one piece: the record of a task is right, and its side records and references are compared with it.
--
-- ARGV[2] is the piece: `q`, `r`, `p`, `y`, `h`, `s`, `d`, `l`, `j`, `z` or `f`, that part of the queue in ARGV[3]; `sum`, of the
-- tasks of all queues; `tasks`, by their records; `beside`, the side hash ARGV[3] of tasks, `keys`, `outbox`, `order` (side_audit.lua);
-- `edges`, `edges_out` and `timeouts` (edge_audit.lua); `from`, `held` and `kept` (held_audit.lua); `counts` of the queue
-- ARGV[3]; and the pieces of boards (board_audit.lua).
--
-- A list has no index: to find a task in one of a million entries takes longer than all else here. Most often it need not be
-- looked for. If every entry of a queue's parts is a task that belongs there and only there, or a ghost that is counted, there
-- are as many records as the queues count (`sum`), and a queue counts as many as its parts have (`adds_up`), then no task is missing from its list. So
-- the parts are checked before the tasks, and the caller sums up what was `doubtful` on the way; if anything was, ARGV[3] of
-- `tasks` is `searched`, not `counted`. Changes meanwhile alter parts, records and counts in one step.

local piece, part, from, limit = ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
local looked_at, doubtful, findings = 0, 0, {}
-- Lists up to this length are counted exactly, in one step; of finished tasks, whose records are read, fewer.
local COUNTED, COUNTED_FINISHED = 2000, 500

-- Notes a flaw; `mend`, if given, repairs it.
local function note(flaw, subject, detail, mend)
  local mends = MENDS and mend
  if mends then
    mend()
  end
  findings[#findings + 1] = { flaw, subject, detail, mends and 1 or 0 }
end

-- A piece of a hash or a sorted set: {where to continue or nothing, {entry, value, …}}.
local function scan(command, key, count)
  local found = call(command, key, from == '' and '0' or from, 'COUNT', count)
  return { found[1] == '0' and '' or found[1], found[2] }
end

local function is_known(name)
  return call('ZSCORE', P .. 'queues', name)
end

-- The places of a task in the parts of a queue.
local function places_of(name, id)
  return {
    r = call('ZSCORE', of(name, 'r'), id),
    p = call('ZSCORE', of(name, 'p'), id),
    s = call('ZSCORE', of(name, 's'), id),
    d = call('ZSCORE', of(name, 'd'), id),
    l = call('ZSCORE', of(name, 'l'), id),
  }
end

-- Removes a task from all parts but one.
local function check_elsewhere(name, id, places, right)
  for part_name, score in pairs(places) do
    if part_name ~= right and score then
      note('misplaced', id, 'it stands in ' .. of(name, part_name), function()
        call('ZREM', of(name, part_name), id)
      end)
    end
  end
end

-- The place of a finished task in its queue's list: before the first that ended later.
local function list_finished(name, entry)
  local list = of(name, 'f')
  local place = place_of_revision(list, sub(entry, @finished.revision))
  local next_one = call('LINDEX', list, place)
  if next_one then
    call('LINSERT', list, 'BEFORE', next_one, entry)
  else
    call('RPUSH', list, entry)
  end
  call('ZADD', P .. 'pruning', 'LT', NOW, name)
end

-- How many tasks a queue has accepted and not removed that stand in none of its parts, and how many stand there.
local function count_lost(name, finished)
  local counters = of(name, 'n')
  local live = count_waiting(name) + count_running(name)
  local accepted, removed = unpack(call('HMGET', counters, 'accepted', 'removed'))
  return (accepted or 0) - (removed or 0) - live - finished, live
end

-- Queues that count as many tasks as their parts have, without ghosts.
local is_sum_right = {}

local function adds_up(name)
  if is_sum_right[name] == nil then
    is_sum_right[name] = count_lost(name, call('LLEN', of(name, 'f')) - count_finished_ghosts(name)) == 0
  end
  return is_sum_right[name]
end

-- Whether a task is to be looked for in a list of its queue.
local function must_search(name)
  local must = part == 'searched' or not adds_up(name)
  doubtful = doubtful + (must and 1 or 0)
  return must
end

local function check_finished(name, id, record, places)
  check_elsewhere(name, id, places, nil)
  if not must_search(name) then
    return
  end
  local entry = sub(record, @record.revision) .. mark_of(record) .. id
  local _, listed = place_of_entry(of(name, 'f'), sub(record, @record.revision), id)
  if listed ~= entry then
    note('unplaced', id, 'it is over and not among the finished tasks of its queue', function()
      list_finished(name, entry)
    end)
  end
end

-- A function of its own, because one function has at most 200 local names.
local batch_audit = (function()
  -- include batches own_leases batch_audit
  return {
    as_leased = as_leased,
    runs_in = runs_in,
    check = check_batch,
    batches = audit_batches,
    check_counts = check_batch_counts,
  }
end)()

local function check_leased(name, id, record, places, is_in_batch)
  check_elsewhere(name, id, places, not is_in_batch and 'l')
  if not is_in_batch and not places.l then
    note('unplaced', id, 'it runs and its lease is not listed: it would never be taken back', function()
      call('ZADD', of(name, 'l'), format('%.0f', now + ARGV[6]), id)
      note_first({ name }, 'l')
    end)
  end
  local are_noted = rules_of(name) and call('EXISTS', of(name, 'k')) == 0
  for _, slot in ipairs(are_noted and slots_of(rules_of(name), id, record) or {}) do
    if not call('ZSCORE', of(name, 'h'), slot) then
      note('unplaced', id, 'it runs and holds no slot of ' .. sub(slot, 1, -#id - 2), function()
        call('ZADD', of(name, 'h'), 0, slot)
      end)
    end
  end
  local worker = worker_of(record)
  if byte(record) == @state.cancelling.byte and call('SISMEMBER', P .. 'cancel:' .. worker, id) == 0 then
    note('unplaced', id, 'it is to be cancelled and its worker is not told', function()
      call('SADD', P .. 'cancel:' .. worker, id)
    end)
  end
end

-- The place that a waiting task's record gives: the part of the queue and the score.
local function right_place(record)
  local state = byte(record)
  if state == @state.scheduled.byte then
    return 's', format('%.0f', (unpack_at('>I7', record, @lease.ready_at.at)))
  elseif state == @state.waiting.byte then
    return 'd', sub(record, @lease.position)
  end
  return 'r', score_in(record)
end

-- Whether a task that is set aside is known to one of its gates.
local function check_aside(name, id, record, score)
  local task, key, version = told_by(record)
  for _, gate in ipairs({ 't' .. (task or ''), 'k' .. (key or ''), @gate.suspect, gate_of_kind(task, version) }) do
    if call('ZSCORE', of(name, 'y'), aside_place(gate, score, id)) then
      return
    end
  end
  note('misplaced', id, 'it stands aside, and no gate would let it pass', function()
    call('ZREM', of(name, 'p'), id)
    call('ZADD', of(name, 'r'), score, id)
  end)
end

-- Whether the lane has the task with this record, which is looked for there.
local function is_found_in_lane(name, id, record)
  local lane, position = of(name, 'q'), sub(record, @record.revision)
  return byte(record) == @state.fresh.byte and call('LINDEX', lane, place_of_revision(lane, position)) == position .. id
end

-- The same. One that is nowhere else is looked for only where it must be.
local function is_in_lane(name, id, record, places)
  if byte(record) == @state.fresh.byte and not (places.r or places.p) and not must_search(name) then
    return true
  end
  return is_found_in_lane(name, id, record)
end

-- A function of its own, because one function has at most 200 local names.
local edge_audit = (function()
  -- include edges external edge_audit
  return {
    check = check_edges,
    is_put_off = is_put_off,
    edges = audit_edges,
    edges_out = audit_edges_out,
    timeouts = audit_timeouts,
  }
end)()
local is_put_off = edge_audit.is_put_off

local function check_waiting(name, id, record, places)
  local part_name, score = right_place(record)
  if part_name == 'd' then
    edge_audit.check(name, id, record)
  end
  if part_name == 'r' and is_in_lane(name, id, record, places) then
    return check_elsewhere(name, id, places, nil)
  end
  if part_name == 'r' and places.p and not places.r then
    check_elsewhere(name, id, places, 'p')
    return check_aside(name, id, record, places.p)
  end
  check_elsewhere(name, id, places, part_name)
  if not places[part_name] then
    note('unplaced', id, 'it waits in no queue: nobody would claim it', function()
      call('ZADD', of(name, part_name), score, id)
      if BOUNDS[part_name] then
        note_first({ name }, part_name)
      end
    end)
  end
end

-- Whether a record is as long as its fields require.
local function is_whole(record)
  local state, length = byte(record), #record
  local is_fresh = state == @state.fresh.byte
  local core = is_fresh and @fresh.core.at or is_over(record) and @ending.core.at or @lease.core.at
  local is_known_state = is_fresh or state == @state.cancelling.byte
    or state >= @state.waiting.byte and state <= @state.stalled.byte
  if not is_known_state or length < core + @core.queue_length.at - 1 then
    return false
  end
  local fixed, text = core + @core.queue.at - 1, core_of(record)
  local open = number_in(text, @core.open_length)
  return length >= fixed + open - 1 and open >= byte(text, @core.queue_length.at)
end

local function check_task(id, record)
  if record == '' or not is_whole(record) then
    return note('unreadable', id, 'its record is no record')
  end
  local name = queue_of(record)
  if not is_known(name) then
    note('queue_unknown', id, 'its queue ' .. name .. ' does not exist')
  end
  local places, is_large = places_of(name, id), byte(core_of(record), @core.size.at) == @size.large.byte
  local leased, batch = batch_audit.as_leased(id, record)
  if is_large and status_of(record) ~= @state.completed and call('HEXISTS', B, id) == 0 then
    note('parameters_lost', id, 'its parameters are gone')
  end
  if is_over(record) then
    check_finished(name, id, record, places)
  elseif is_running(leased) then
    check_leased(name, id, leased, places, batch)
  else
    check_waiting(name, id, record, places)
  end
end

local function audit_tasks()
  local found = scan('HSCAN', T, limit)
  for i = 1, #found[2], 2 do
    looked_at = looked_at + 1
    check_task(found[2][i], found[2][i + 1])
  end
  return found[1]
end

-- Whether a task is where its record says, and nowhere else, in this part of its queue.
local function is_only_here(part_name, name, id, record)
  if is_over(record) or is_running(record) then
    return is_running(record) and part_name == 'l'
  end
  local right = right_place(record)
  if right ~= 'r' then
    return part_name == right
  end
  local other = part_name == 'r' and 'p' or part_name == 'p' and 'r'
  local is_elsewhere = not other or call('ZSCORE', of(name, other), id)
  -- The score of a task of the default priority is its position; the lane has no others.
  local is_for_lane = score_in(record) == sub(record, @record.revision)
  return not is_elsewhere and not (is_for_lane and is_found_in_lane(name, id, record))
end

-- The bytes that a task counts in a queue with `max_bytes`, by its state; nothing if it counts none.
local function check_weight(name, id, noted)
  local places = places_of(name, id)
  local bytes = (places.r or places.p or places.s or places.d) and bytes_stored(id)
  if noted and (not bytes or tonumber(noted) ~= bytes) then
    note('miscounted', name, id .. ' counts ' .. noted .. ' waiting bytes, not ' .. (bytes or 0), function()
      note_out(name, { id })
      if bytes then
        note_in(name, { '', id })
      end
    end)
  elseif bytes and not noted and call('HEXISTS', P .. 'sizing', name) == 0 then
    note('miscounted', name, id .. ' waits and its bytes are not counted', function()
      note_in(name, { '', id })
    end)
  end
end

local function audit_weights(name)
  if not sized or not is_sized(name) then
    return ''
  end
  local found = scan('HSCAN', of(name, 'z'), limit)
  for i = 1, #found[2], 2 do
    looked_at = looked_at + 1
    check_weight(name, found[2][i], found[2][i + 1])
  end
  return found[1]
end

local function audit_place(part_name, name)
  local key = of(name, part_name)
  local found = scan('ZSCAN', key, limit)
  for i = 1, #found[2], 2 do
    local id = found[2][i]
    local record = call('HGET', T, id)
    local is_of_queue = record and queue_of(record) == name
    local is_right = is_of_queue and is_whole(record) and is_only_here(part_name, name, id, record)
    -- The sentinel among the leases is not a task, and a batch not one.
    local is_task = part_name ~= 'l' or #id < #@leases.sentinel
    looked_at = looked_at + 1
    doubtful = doubtful + ((is_right or not is_task) and 0 or 1)
    if not is_task and id ~= @leases.sentinel then
      batch_audit.check(name, id)
    elseif is_task and not is_of_queue then
      note('place_without_task', id, 'it stands in ' .. key .. ' and is no task of that queue', function()
        call('ZREM', key, id)
        if sized then
          note_out(name, { id })
        end
      end)
    elseif sized and part_name ~= 'l' and is_sized(name) and call('HEXISTS', of(name, 'z'), id) == 0 then
      check_weight(name, id, false)
    end
  end
  return found[1]
end

-- Lists are walked by revisions. Where a step ends, `REVISION:GHOSTS`, says how many ghosts the walk has met.
local function read_end()
  local revision, ghosts = string.match(from, '^(%d+):(%d+)$')
  return revision or from, tonumber(ghosts or 0)
end

-- Where a step ends that met these entries; at the end of the list, whether it met as many ghosts as are counted.
local function end_step(entries, ghosts, counted)
  if #entries == limit then
    return sub(entries[#entries], @entry.revision) .. ':' .. format('%.0f', ghosts)
  end
  doubtful = doubtful + (ghosts == counted and 0 or 1)
  return ''
end

local function audit_finished(name)
  local list, first = of(name, 'f'), 0
  local after, ghosts = read_end()
  if after ~= '' then
    first = place_of_revision(list, after)
    while sub(call('LINDEX', list, first) or '', @finished.revision) == after do
      first = first + 1
    end
  end
  local entries = call('LRANGE', list, first, first + limit - 1)
  for _, entry in ipairs(entries) do
    local id = sub(entry, @finished.rest.at)
    local record = call('HGET', T, id)
    looked_at = looked_at + 1
    -- The task of a ghost is gone, has moved on, or was restored from before.
    if not is_listed(record, entry) then
      ghosts = ghosts + 1
    elseif not is_over(record) or queue_of(record) ~= name then
      doubtful = doubtful + 1
      note('place_without_task', id, 'it stands in ' .. list .. ' and has not ended as that says', function()
        call('LREM', list, 1, entry)
      end)
    end
  end
  return end_step(entries, ghosts, count_finished_ghosts(name))
end

-- Entries of the lane without a task: ghosts, if there are any.
local function audit_lane(name)
  local lane, first = of(name, 'q'), 0
  local after, ghosts = read_end()
  if after ~= '' then
    first = place_of_revision(lane, after)
    first = sub(call('LINDEX', lane, first) or '', @entry.revision) == after and first + 1 or first
  end
  local entries, has_ghosts, ids = call('LRANGE', lane, first, first + limit - 1), ghosts_in(name) > 0, {}
  looked_at = looked_at + #entries
  for i, entry in ipairs(entries) do
    ids[i] = sub(entry, @entry.rest.at)
  end
  for i, record in ipairs(ids[1] and call('HMGET', T, unpack(ids)) or {}) do
    local is_right = is_entered(record, entries[i]) and queue_of(record) == name
    -- One of another priority does not belong here: see is_only_here.
    doubtful = doubtful + (is_right and score_in(record) ~= sub(record, @record.revision) and 1 or 0)
    if not is_right and has_ghosts then
      ghosts = ghosts + 1
    elseif not is_right then
      doubtful = doubtful + 1
      note('place_without_task', ids[i], 'it stands in ' .. lane .. ' and is no task of that queue', function()
        call('LREM', lane, 1, entries[i])
      end)
    end
  end
  return end_step(entries, ghosts, ghosts_in(name))
end

-- Whether the lane has as many ghosts as are counted.
local function check_ghosts(name)
  local counted, lane = ghosts_in(name), of(name, 'q')
  if counted == 0 or call('LLEN', lane) > COUNTED then
    return
  end
  local ghosts = 0
  for first = 0, call('LLEN', lane) - 1, LANE_PIECE do
    local _, some = without_ghosts(call('LRANGE', lane, first, first + LANE_PIECE - 1))
    ghosts = ghosts + some
  end
  if ghosts ~= counted then
    note('miscounted', name, 'its lane has ' .. ghosts .. ' entries that are no tasks, and ' .. counted .. ' are counted', function()
      call('SET', of(name, 'x'), ghosts)
    end)
  end
end

-- Places behind gates; and gates that would let tasks pass and have no due time.
local function audit_aside(name)
  local found = scan('ZSCAN', of(name, 'y'), limit)
  for i = 1, #found[2], 2 do
    local place = found[2][i]
    local gate = sub(place, 1, (string.find(place, NUL, 1, true) or 1) - 1)
    local score, id = read_place(gate, place)
    looked_at = looked_at + 1
    if call('ZSCORE', of(name, 'p'), id) ~= score then
      note('place_without_task', id, 'it stands behind a gate of ' .. name .. ' and not aside', function()
        call('ZREM', of(name, 'y'), place)
      end)
    elseif gate == @gate.suspect then
      if call('SISMEMBER', P .. 'suspects', name) == 0 then
        note('misplaced', id, 'it is suspect, and no claim would look for suspects of ' .. name, function()
          call('SADD', P .. 'suspects', name)
        end)
      end
    elseif byte(gate) == @gate.unknown.byte then
      if call('SISMEMBER', P .. 'unknown', name) == 0 then
        note('misplaced', id, 'some workers do not know it, and no claim would look for such tasks of ' .. name, function()
          call('SADD', P .. 'unknown', name)
        end)
      end
    elseif not call('ZSCORE', of(name, 'e'), gate) and call('EXISTS', of(name, 'v')) == 0
      and not (rules_of(name) and rule_of(rules_of(name), gate) and shut_by(stand_of(name, gate)) == 'full') then
      note('misplaced', id, 'it stands behind a gate that is open, and nobody would look', function()
        call('ZADD', of(name, 'e'), NOW, gate)
      end)
    end
  end
  return found[1]
end

-- Slots of gates: whether their holders run.
local function audit_slots(name)
  local found = scan('ZSCAN', of(name, 'h'), limit)
  for i = 1, #found[2], 2 do
    local slot = found[2][i]
    local ends = string.find(slot, NUL, 1, true) or 1
    looked_at = looked_at + 1
    if not batch_audit.runs_in(name, sub(slot, ends + 1)) then
      note('place_without_task', sub(slot, ends + 1), 'it holds a slot of ' .. sub(slot, 1, ends - 1) .. ' and does not run',
        function()
          call('ZREM', of(name, 'h'), slot)
          call('ZADD', of(name, 'e'), NOW, sub(slot, 1, ends - 1))
        end)
    end
  end
  return found[1]
end

-- The finished tasks that a queue lists, by status, and how many entries are ghosts.
local function count_listed(name)
  local counts, live, entries, ids = {}, 0, call('LRANGE', of(name, 'f'), 0, -1), {}
  for i, entry in ipairs(entries) do
    ids[i] = sub(entry, @finished.rest.at)
  end
  for i, record in ipairs(#ids > 0 and call('HMGET', T, unpack(ids)) or {}) do
    if is_listed(record, entries[i]) then
      local status = status_of(record)
      counts[status], live = (counts[status] or 0) + 1, live + 1
    end
  end
  return counts, #entries - live
end

local function set_count(name, what, count)
  if count and count > 0 then
    call('HSET', of(name, 'n'), what, count)
  else
    call('HDEL', of(name, 'n'), what)
  end
end

local STATUSES_OVER = {
  @state.completed, @state.failed, @state.cancelled, @state.aborted, @state.dropped, @state.stalled,
}

-- Compares the counters of a queue with its list of finished tasks. Returns how many of these the queue has.
local function check_finished_counts(name)
  local listed, ghosts, counted, differs = call('LLEN', of(name, 'f')), count_finished_ghosts(name), 0, false
  local counts, right_ghosts
  if listed <= COUNTED_FINISHED then
    counts, right_ghosts = count_listed(name)
    differs = right_ghosts ~= ghosts
  end
  for _, status in ipairs(STATUSES_OVER) do
    local count = tonumber(call('HGET', of(name, 'n'), status) or 0)
    differs = differs or counts and count ~= (counts[status] or 0)
    counted = counted + count
  end
  if differs or counted + ghosts ~= listed then
    note('miscounted', name, counted .. ' finished tasks are counted and ' .. listed - (right_ghosts or ghosts) .. ' are listed',
      counts and function()
        for _, status in ipairs(STATUSES_OVER) do
          set_count(name, status, counts[status])
        end
        set_count(name, 'ghosts', right_ghosts)
      end or nil)
  end
  return listed - (right_ghosts or ghosts)
end

-- Whether the bytes of a queue are the sum over its tasks.
local function check_sum(name)
  local weights = of(name, 'z')
  if call('HLEN', weights) > COUNTED then
    return
  end
  local sum, noted = 0, tonumber(call('HGET', P .. 'sized', name) or 0)
  for _, bytes in ipairs(call('HVALS', weights)) do
    sum = sum + bytes
  end
  if sum ~= noted then
    note('miscounted', name, noted .. ' waiting bytes are counted, and its tasks count ' .. sum, function()
      call('HSET', P .. 'sized', name, sum)
    end)
  end
end

-- Whether the queue's bounds are no later than its first times.
local function check_bounds(name)
  for part_name, bounds in pairs(BOUNDS) do
    local first, bound = first_time(name, part_name), call('ZSCORE', bounds, name)
    if first and (not bound or tonumber(bound) > tonumber(first)) then
      note('unplaced', name, 'its first entry in ' .. of(name, part_name) .. ' would come too late to any tick', function()
        note_first({ name }, part_name)
      end)
    end
  end
end

-- Whether retention would ever look at the finished tasks of a queue.
local function check_pruning(name)
  if call('EXISTS', of(name, 'f')) == 1 and not call('ZSCORE', P .. 'pruning', name) then
    note('unplaced', name, 'it has finished tasks, and retention would never look at them', function()
      call('ZADD', P .. 'pruning', NOW, name)
    end)
  end
end

-- Of so many queues are the counts summed up in one step.
local QUEUES_SUMMED = 5000

-- Whether there are as many records as the queues count.
local function audit_sum()
  if call('ZCARD', P .. 'queues') > QUEUES_SUMMED then
    doubtful = 1
    return ''
  end
  local sum = 0
  for _, name in ipairs(call('ZRANGE', P .. 'queues', 0, -1)) do
    local accepted, removed = unpack(call('HMGET', of(name, 'n'), 'accepted', 'removed'))
    sum = sum + (accepted or 0) - (removed or 0)
  end
  doubtful = sum == call('HLEN', T) and 0 or 1
  return ''
end

local function audit_counts(name)
  check_bounds(name)
  check_pruning(name)
  check_ghosts(name)
  batch_audit.check_counts(name)
  if sized and is_sized(name) then
    check_sum(name)
  end
  local counters, finished = of(name, 'n'), check_finished_counts(name)
  looked_at = looked_at + 1
  local lost, live = count_lost(name, finished)
  if lost ~= 0 then
    local accepted, removed = tonumber(call('HGET', counters, 'accepted') or 0), tonumber(call('HGET', counters, 'removed') or 0)
    note('miscounted', name, accepted .. ' were accepted; ' .. live .. ' live, ' .. finished .. ' finished and ' .. removed
      .. ' removed make ' .. accepted - lost, function()
      -- Missing tasks count as removed, whatever removed them; additional ones count as accepted.
      call('HINCRBY', counters, lost > 0 and 'removed' or 'accepted', math.abs(lost))
    end)
  end
  return ''
end

local pieces = {
  sum = audit_sum,
  tasks = audit_tasks,
  edges = edge_audit.edges,
  edges_out = edge_audit.edges_out,
  timeouts = edge_audit.timeouts,
  counts = function() return audit_counts(part) end,
  q = function() return audit_lane(part) end,
  r = function() return audit_place('r', part) end,
  p = function() return audit_place('p', part) end,
  y = function() return audit_aside(part) end,
  h = function() return audit_slots(part) end,
  s = function() return audit_place('s', part) end,
  d = function() return audit_place('d', part) end,
  l = function() return audit_place('l', part) end,
  j = function() return batch_audit.batches(part) end,
  z = function() return audit_weights(part) end,
  f = function() return audit_finished(part) end,
}
-- Functions of their own, because one function has at most 200 local names.
local function pieces_of_boards()
  -- include board board_run board_labels board_audit
end

local function pieces_of_parents()
  -- include parents held_audit
  return { from = audit_lists, held = audit_holders, kept = audit_results }
end

local function pieces_beside()
  -- include side_audit
  return { beside = audit_beside, keys = audit_keys, outbox = audit_outbox, order = audit_order }
end

local look_over = pieces[piece] or pieces_beside()[piece] or pieces_of_parents()[piece] or pieces_of_boards()[piece]
local next_from = look_over(part)
return { next_from, looked_at, doubtful, unpack(findings) }
