#!lua
-- Sends tasks that are over again, each answered for itself. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present; for each task twelve: id; the revision it must have (15 digits), or
-- nothing; 1 if it is sent from a copy; 1 if attempts, crashes and time are counted from the start; the queue it goes to, or
-- nothing for its own; 1 if its record and parameters give way to those that follow; its record and its parameters if
-- they lie apart; and, to make it anew from a copy: attempt, crashes, started_at and worker as in a carry from 32 on but
-- without the priority, its errors, its news (see moves.lua); what it said of its unique key (see unique.lua), or nothing.
-- Answers for each: d done, a sent again before, l<status> live, m<status> not to be sent again, u unknown, q<queue> for
-- one that does not exist, h<id> another task, which holds its unique key.

-- include base numbers wake view over unique aside remove moves

local STRIDE, sent = 12, P .. 'o:sent'
local high, low, next_high = take_numbers((#ARGV - 1) / STRIDE)
local ended, receipts = {}, {}
-- Most often no task has a unique key. By id: what was sent again just now.
local is_any_unique, again = call('EXISTS', SAID) == 1, {}

-- What a task that is over takes along: attempt to started_at as in a carry, and its last worker.
local function left_behind(state)
  local lease = string.match(sub(state, 36), '^[^\n]*')
  return sub(lease, 49, 57) .. sub(lease, 17, 32), string.match(lease, ';(.*)$', 81)
end

-- In its queue, at the end of its priority, due now.
local function put_in(name, id, record, facts, worker, revision, resets)
  local priority = sub(record, 38, 38)
  local counted = resets and '000000000' .. sub(facts, 10) or facts
  call('HDEL', P .. 'u', id)
  put_back(gathered(name), id, revision .. NOW .. counted .. priority .. worker, score_of(priority, revision))
end

local function count(name, what, change)
  local counts = gathered(name).counts
  counts[what] = (counts[what] or 0) + change
end

-- The record of a task that was submitted now, if it is to count from the start.
local function dated(record, resets)
  return resets and NOW .. sub(record, 17) or record
end

local function write_record(id, at)
  call('HSET', T, id, dated(ARGV[at + 6], ARGV[at + 3] == '1'))
  if ARGV[at + 7] == '' then
    call('HDEL', B, id)
  else
    call('HSET', B, id, ARGV[at + 7])
  end
end

local function send_again(id, at, record, state, name, revision)
  local was_in, facts, worker = queue_of(record), left_behind(state)
  local status = sub(state, 2, 2)
  ended[was_in] = ended[was_in] or {}
  table.insert(ended[was_in], sub(state, 19, 33) .. id)
  count(was_in, status, -1)
  if was_in ~= name then
    count(was_in, 'removed', 1)
    count(name, 'accepted', 1)
  end
  if ARGV[at + 5] == '1' then
    write_record(id, at)
  elseif ARGV[at + 3] == '1' then
    call('HSET', T, id, dated(record, true))
  end
  put_in(name, id, record, facts, worker, revision, ARGV[at + 3] == '1')
end

local function make_anew(id, at, name, revision)
  write_record(id, at)
  if ARGV[at + 9] ~= '' then
    call('HSET', H, id, ARGV[at + 9])
  end
  if ARGV[at + 10] ~= '' then
    call('HSET', X, id, ARGV[at + 10])
  end
  count(name, 'accepted', 1)
  put_in(name, id, ARGV[at + 6], sub(ARGV[at + 8], 1, 25), sub(ARGV[at + 8], 26), revision, ARGV[at + 3] == '1')
end

-- What a task said of its unique key, or nothing.
local function said_of(id, at, record)
  if not record then
    return ARGV[at + 11] ~= '' and ARGV[at + 11]
  end
  local entry = is_any_unique and call('HGET', SAID, id)
  return entry and said_in(entry)
end

local function held_by_another(id, said)
  local holder = call('HGET', HOLDERS, key_in(said))
  local entry, record = holder and call('HGET', SAID, holder), holder and call('HGET', T, holder)
  if not entry or not record or holder == id then
    return nil
  end
  local status = again[holder] and SUBMITTED or standing(holder, record, call('HGET', M, holder))
  return holds(entry, status) and holder
end

local function resubmit(at, index)
  local id, expected, is_copy = ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1'
  if is_copy and call('SISMEMBER', sent, expected .. id) == 1 then
    return 'a'
  end
  local record, state = call('HGET', T, id), call('HGET', M, id)
  if record and not (state and byte(state) == 70) then
    return 'l' .. standing(id, record, state)
  elseif record and (sub(state, 2, 2) == COMPLETED or expected ~= '' and sub(state, 19, 33) ~= expected) then
    return 'm' .. sub(state, 2, 2)
  elseif not record and not is_copy then
    return 'u'
  end
  local name = ARGV[at + 4] ~= '' and ARGV[at + 4] or queue_of(record or ARGV[at + 6])
  if call('SISMEMBER', P .. 'queues', name) == 0 then
    return 'q' .. name
  end
  local said = said_of(id, at, record)
  local holder = said and held_by_another(id, said)
  if holder then
    return 'h' .. holder
  end
  if is_copy then
    receipts[#receipts + 1] = expected .. id
  end
  local revision = number_at(high, low, next_high, index)
  if record then
    send_again(id, at, record, state, name, revision)
  else
    make_anew(id, at, name, revision)
  end
  if said then
    take_key(id, said, end_of(said), '')
    again[id] = true
  end
  return 'd'
end

local answers = {}
for at = 2, #ARGV, STRIDE do
  answers[#answers + 1] = resubmit(at, #answers)
end
for name, entries in pairs(ended) do
  forget_finished(name, entries)
end
spread('SADD', sent, receipts)
write_moves(true)
return answers
