#!lua
-- Sends finished tasks again, each independently. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time; for each task thirteen: id; the revision it must have (15 digits), or
-- nothing; 1 if it is sent from a copy; 1 if attempts, crashes and time are counted from the start; the queue it goes to, or
-- nothing for its own; 1 if its core and parameters give way to those that follow; its core, and its parameters
-- if they are stored separately; and, to create it again from a copy: started_at to blames as in a lease, its worker, its
-- errors, its news; its uniqueness constraint (see unique.lua), or nothing.
-- Returns for each: d done, a sent again before, l<status> live, m<status> not to be sent again, u unknown, q<queue> for
-- one that does not exist, h<id> another task, which holds its unique key.

-- include base numbers wake batches unique moves

local STRIDE, sent = 13, P .. 'o:sent'
local high, low, next_high = take_numbers((#ARGV - 1) / STRIDE)
local receipts = {}
-- Most often no task has a unique key. By id: tasks that were just sent again.
local is_any_unique, again = call('EXISTS', SAID) == 1, {}
local has_unknown, is_known = call('EXISTS', P .. 'u') == 1, {}

-- Into its queue, at the end of its priority, due now; it no longer expires. `facts` are started_at to blames as in a lease.
local function put_in(name, id, core, facts, worker, revision, resets)
  local priority = sub(core, @core.priority)
  if resets then
    core, facts = STAMP .. sub(core, @core.fingerprint.at), sub(facts, @facts.started_at) .. @attempts.none
  else
    facts = sub(facts, @facts.started_at.at, @facts.crashes.last) .. @suspicion.none .. sub(facts, @facts.blames)
  end
  if byte(core, @core.expires.at) == @flag.yes.byte then
    core = sub(core, 1, @core.tries.last) .. @flag.no .. sub(core, @core.open_length.at)
  end
  if has_unknown then
    call('HDEL', P .. 'u', id)
  end
  local record = @state.submitted .. revision .. revision .. STAMP .. facts .. string.char(#worker) .. core .. worker
  put_back(gathered(name), id, record, score_of(priority, revision))
end

local function count(name, what, change)
  local counts = gathered(name).counts
  counts[what] = (counts[what] or 0) + change
end

local function write_body(id, at)
  if ARGV[at + 7] == '' then
    call('HDEL', B, id)
  else
    call('HSET', B, id, ARGV[at + 7])
  end
end

local function send_again(id, at, record, name, revision)
  local was_in, worker = queue_of(record), sub(record, #record - byte(record, @ending.worker_length.at) + 1)
  local core = sub(record, @ending.core.at, #record - #worker)
  count(was_in, status_of(record), -1)
  count(was_in, 'ghosts', 1)
  if was_in ~= name then
    count(was_in, 'removed', 1)
    count(name, 'accepted', 1)
  end
  if ARGV[at + 5] == '1' then
    core = sub(ARGV[at + 6], 1, @core.remember.last) .. sub(core, @core.linked) .. sub(ARGV[at + 6], @core.tries.at)
    write_body(id, at)
  end
  put_in(name, id, core, sub(record, @ending.started_at.at, @ending.blames.last), worker, revision, ARGV[at + 3] == '1')
end

local function make_anew(id, at, name, revision)
  write_body(id, at)
  if ARGV[at + 10] ~= '' then
    call('HSET', H, id, ARGV[at + 10])
  end
  if ARGV[at + 11] ~= '' then
    call('HSET', X, id, ARGV[at + 11])
  end
  if sub(ARGV[at + 6], @core.remember) == @flag.yes then
    call('HDEL', P .. 'e', id)
  end
  count(name, 'accepted', 1)
  put_in(name, id, ARGV[at + 6], ARGV[at + 8], ARGV[at + 9], revision, ARGV[at + 3] == '1')
end

-- The uniqueness constraint of a task, or nothing.
local function said_of(id, at, record)
  if not record then
    return ARGV[at + 12] ~= '' and ARGV[at + 12]
  end
  local entry = is_any_unique and call('HGET', SAID, id)
  return entry and said_in(entry)
end

local function held_by_another(id, said)
  local holder = call('HGET', HOLDERS, key_in(said))
  local entry, record = holder and call('HGET', SAID, holder), holder and as_leased(holder, call('HGET', T, holder))
  if not entry or not record or holder == id then
    return nil
  end
  local status = again[holder] and @state.submitted or status_of(record)
  return holds(entry, status) and holder
end

local function resubmit(at, index)
  local id, expected, is_copy = ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1'
  if is_copy and call('SISMEMBER', sent, expected .. id) == 1 then
    return @resubmitted.already
  end
  local record = as_leased(id, call('HGET', T, id))
  local status = record and status_of(record)
  if record and not is_over(record) then
    return @resubmitted.live .. status
  elseif record and (status == @state.completed or byte(record, @ending.linked.at) == @linked.spontaneous.byte
    or expected ~= '' and sub(record, @record.revision) ~= expected) then
    return @resubmitted.moved .. status
  elseif not record and not is_copy then
    return @resubmitted.unknown
  end
  local name = ARGV[at + 4] ~= '' and ARGV[at + 4] or record and queue_of(record) or queue_in(ARGV[at + 6])
  if is_known[name] == nil then
    is_known[name] = call('ZSCORE', P .. 'queues', name) and true or false
  end
  if not is_known[name] then
    return @resubmitted.queue .. name
  end
  local said = said_of(id, at, record)
  local holder = said and held_by_another(id, said)
  if holder then
    return @resubmitted.held .. holder
  end
  if is_copy then
    receipts[#receipts + 1] = expected .. id
  end
  local revision = number_at(high, low, next_high, index)
  if record then
    send_again(id, at, record, name, revision)
  else
    make_anew(id, at, name, revision)
  end
  if said then
    take_key(id, said, end_of(said), '')
    again[id] = true
  end
  return @resubmitted.done
end

local answers = {}
for at = 2, #ARGV, STRIDE do
  answers[#answers + 1] = resubmit(at, #answers)
end
if call('EXISTS', P .. 'workflows') == 1 then
  -- include touch_run
  for i, answer in ipairs(answers) do
    if answer == @resubmitted.done then
      touch_run(ARGV[2 + (i - 1) * STRIDE])
    end
  end
end
spread('SADD', sent, receipts)
write_moves(true)
return answers
