-- Unique keys, which few tasks have: how what stands for them is read and written. Who holds one is judged when somebody
-- asks, by the holder's record and the time: a task that moves touches none of this.
--
--   said    1-10 the statuses in which a task holds its key, 1 or 0 by their digits; 11-26 for how many microseconds,
--           zeros: without end; 27-29 length of the key, 30- key: the task's name, a blank, what the submitter chose
--   k       by key: id of the task that took it last
--   k:of    by id: 1-16 until when it holds its key, zeros: without end; 17- what it said; then, if it has become what
--           another submission said, that one's fingerprint, 16 bytes, and id

local HOLDERS, SAID = P .. 'k', P .. 'k:of'

local function key_in(said)
  return sub(said, 30, 29 + sub(said, 27, 29))
end

local function said_in(entry)
  return sub(entry, 17, 45 + sub(entry, 43, 45))
end

local function last_word(entry)
  return sub(entry, 46 + sub(entry, 43, 45))
end

-- Whether a task that took its key holds it, standing where it does.
local function holds(entry, status)
  local ends = sub(entry, 1, 16)
  return byte(entry, 17 + status) == 49 and (ends == NO_TIME or ends > NOW)
end

-- Until when a task holds its key that takes it now.
local function end_of(said)
  local span = sub(said, 11, 26)
  return span == NO_TIME and NO_TIME or format('%016.0f', now + span)
end

local function take_key(id, said, ends, word)
  call('HSET', HOLDERS, key_in(said), id)
  call('HSET', SAID, id, ends .. said .. word)
end

-- Takes the keys of tasks that go, at most 1,000.
local function release_keys(ids)
  if call('EXISTS', SAID) == 0 then
    return
  end
  for i, entry in ipairs(call('HMGET', SAID, unpack(ids))) do
    local key = entry and key_in(said_in(entry))
    if key and call('HGET', HOLDERS, key) == ids[i] then
      call('HDEL', HOLDERS, key)
    end
  end
  call('HDEL', SAID, unpack(ids))
end
