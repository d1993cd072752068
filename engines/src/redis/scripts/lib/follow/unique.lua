-- Unique keys, which few tasks have: reading and writing their entries. The holder of a key is determined when a
-- submission comes, from the holder's record and the time; a task that moves changes nothing here.

local HOLDERS, SAID = P .. 'k', P .. 'k:of'

local function key_in(said)
  return sub(said, @said.rest.at, @said.rest.at - 1 + sub(said, @said.key_length))
end

local function said_in(entry)
  return sub(entry, @kept.statuses.at, @kept.rest.at - 1 + sub(entry, @kept.key_length))
end

local function last_word(entry)
  return sub(entry, @kept.rest.at + sub(entry, @kept.key_length))
end

-- Whether a task that took its key still holds it, with this status.
local function holds(entry, status)
  local ends = sub(entry, @kept.ends)
  return byte(entry, @kept.statuses.at + status) == @flag.yes.byte and (ends == NO_TIME or ends > NOW)
end

-- Until when a task that takes its key now holds it.
local function end_of(said)
  local span = sub(said, @said.span)
  return span == NO_TIME and NO_TIME or format('%016.0f', now + span)
end

local function take_key(id, said, ends, word)
  call('HSET', HOLDERS, key_in(said), id)
  call('HSET', SAID, id, ends .. said .. word)
end

-- Deletes the keys of removed tasks, at most 1,000.
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
