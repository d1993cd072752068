#!lua
-- Stores tasks that another store held, each independently. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time; 2 the greatest of their revisions and positions; for each task
-- ten: id; its record, which is not that of a running task; its parameters if they are stored separately; its errors; its
-- news; its counts of dependencies (see edges.lua); its uniqueness constraint (see unique.lua); 1 if it was the last to take
-- its key; until when it holds that, and then what `kept` ends with; the predecessors it holds, a zero
-- byte after each.
-- Returns for each: d done, a stored or remembered already, c another submission has its id, q<queue> for one that does not
-- exist, h<id> another task, which holds its unique key.

-- include base numbers wake batches unique moves over parents

local STRIDE = 10
-- By id: the records of this call. By queue: whether it exists, and entries of finished tasks.
local restored, is_known, ended = {}, {}, {}

local function fingerprint_of(record)
  local at = core_at(record) - 1
  return sub(record, at + @core.fingerprint.at, at + @core.fingerprint.last)
end

-- The fingerprint of the submission that has an id, be its task stored or remembered.
local function known_fingerprint(id)
  local record = call('HGET', T, id)
  if record then
    return fingerprint_of(record)
  end
  local tombstone = call('HGET', P .. 'e', id)
  return tombstone and sub(tombstone, @tombstone.forget_at) > STAMP and sub(tombstone, @tombstone.fingerprint)
end

local function held_by_another(id, said)
  local holder = call('HGET', HOLDERS, key_in(said))
  local entry, record = holder and call('HGET', SAID, holder), holder and (restored[holder] or as_leased(holder, call('HGET', T, holder)))
  return entry and record and holder ~= id and holds(entry, status_of(record)) and holder
end

-- Stores a field of a hash, unless it is empty.
local function put(key, id, value)
  if value ~= '' then
    call('HSET', key, id, value)
  end
end

-- Notes until when signals from outside must come for which a task waits.
local function put_timeouts(id, counts)
  -- include edges external
  for _, signal in ipairs((read_signals(counts))) do
    local due = timeout_of(signal)
    if due then
      call('ZADD', TIMEOUTS, due, timeout_entry(id, signal))
    end
  end
end

-- Notes the place of a task: in its queue, or among its finished tasks.
local function place(name, id, record)
  local queue, status = gathered(name), status_of(record)
  queue.counts.accepted = (queue.counts.accepted or 0) + 1
  if status == @state.waiting then
    push(queue.waiting, sub(record, @lease.position), id)
  elseif status == @state.scheduled then
    push(queue.later, format('%.0f', (unpack_at('>I7', record, @lease.ready_at.at))), id)
  elseif status == @state.submitted then
    push_ready(queue, record, score_in(record), id)
  else
    -- It ended elsewhere: the history does not count it.
    call('HINCRBY', of(name, 'n'), status, 1)
    ended[name] = ended[name] or {}
    ended[name][#ended[name] + 1] = sub(record, @ending.revision) .. mark_of(record) .. id
  end
end

local function restore(at)
  local id, record, said, is_taken = ARGV[at], ARGV[at + 1], ARGV[at + 6], ARGV[at + 7] == '1'
  local known, name = known_fingerprint(id), queue_of(record)
  if known then
    return known == fingerprint_of(record) and @restored.already or @restored.conflict
  end
  if is_known[name] == nil then
    is_known[name] = call('ZSCORE', P .. 'queues', name) and true or false
  end
  if not is_known[name] then
    return @restored.queue .. name
  end
  if said ~= '' then
    local entry = sub(ARGV[at + 8], @kept.ends) .. said .. sub(ARGV[at + 8], @kept.statuses.at)
    local holder = is_taken and held_by_another(id, said)
    if holder and holds(entry, status_of(record)) then
      return @restored.held .. holder
    end
    call('HSET', SAID, id, entry)
    if is_taken and not holder then
      call('HSET', HOLDERS, key_in(said), id)
    end
  end
  put(B, id, ARGV[at + 2])
  put(H, id, ARGV[at + 3])
  put(X, id, ARGV[at + 4])
  put(P .. 'g', id, ARGV[at + 5])
  if ARGV[at + 9] ~= '' and not is_over(record) then
    hold_parents({ id, @flag.yes .. ARGV[at + 9] })
  end
  put_timeouts(id, ARGV[at + 5])
  call('HDEL', P .. 'e', id)
  restored[id] = record
  push(records, id, record)
  place(name, id, record)
  return @restored.done
end

-- Those entries that a queue's list of finished tasks lacks. The others were ghosts, and are none from now on.
local function without_listed(name, list, entries)
  if count_finished_ghosts(name) == 0 then
    return entries
  end
  local lacking = {}
  for _, entry in ipairs(entries) do
    local place = place_of_entry(list, sub(entry, @finished.revision), sub(entry, @finished.rest.at))
    if place then
      call('LSET', list, place, entry)
      call('HINCRBY', of(name, 'n'), 'ghosts', -1)
    else
      lacking[#lacking + 1] = entry
    end
  end
  return lacking
end

-- Adds entries to a queue's list of finished tasks, which is in the order of revisions. Most often all of them belong at
-- one of its ends.
local function put_over(name, entries)
  local list = of(name, 'f')
  entries = without_listed(name, list, entries)
  call('ZADD', P .. 'pruning', 'LT', NOW, name)
  if not entries[1] then
    return
  end
  table.sort(entries)
  local length = call('LLEN', list)
  local before = place_of_revision(list, sub(entries[1], @finished.revision))
  local upto = place_of_revision(list, sub(entries[#entries], @finished.revision))
  local is_front = upto < length - before
  local crossed = is_front and { 0, upto - 1 } or { before, length - 1 }
  if crossed[1] <= crossed[2] then
    for _, entry in ipairs(call('LRANGE', list, crossed[1], crossed[2])) do
      entries[#entries + 1] = entry
    end
    table.sort(entries)
    if is_front then
      call('LTRIM', list, upto, -1)
    elseif before == 0 then
      call('DEL', list)
    else
      call('LTRIM', list, 0, before - 1)
    end
  end
  if is_front then
    local backwards = {}
    for i = #entries, 1, -1 do
      backwards[#backwards + 1] = entries[i]
    end
    entries = backwards
  end
  spread(is_front and 'LPUSH' or 'RPUSH', list, entries)
end

local answers = {}
for at = 3, #ARGV, STRIDE do
  answers[#answers + 1] = restore(at)
end
if tonumber(call('GET', P .. 'c') or 0) < tonumber(ARGV[2]) then
  call('SET', P .. 'c', ARGV[2])
end
for name, entries in pairs(ended) do
  put_over(name, entries)
end
write_moves(true)
return answers
