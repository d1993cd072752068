#!lua flags=allow-oom
-- Takes a free duty, or renews one. A renewal with the same note is not written.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 holder, 4 microseconds, 5 note, 6 the process, if it can
-- renew without a write.
-- Returns {the holder, as stored; the previous holder's note, for a new holder; the channel to subscribe to in place of a
-- write}.

-- include base heartbeats

local duties, ttl = P .. 'duties', tonumber(ARGV[4])
local before, term = call('HGET', duties, ARGV[2]), 1
local expires_at = format('%016.0f', min(now + ttl, 9e15))
local had, taken_from
local function as_stored()
  return format('%015.0f', term) .. expires_at .. ARGV[3] .. ';' .. ARGV[5]
end
if before then
  term = tonumber(sub(before, @duty.term))
  local holder, note = string.match(before, '^([^;]*);(.*)$', @duty.rest.at)
  local record, written = 'duty:' .. ARGV[2] .. ':' .. holder, sub(before, @duty.expires_at)
  local ends = ends_at(record, written)
  if holder ~= ARGV[3] then
    if ends > NOW then
      return { sub(before, @duty.term) .. ends .. sub(before, @duty.rest.at), false, false }
    end
    call('HDEL', P .. 'quiet', record)
    term, taken_from = term + 1, note
  else
    if ends > NOW and note == ARGV[5] and written <= expires_at and ARGV[6] ~= '' then
      local channel = beat(record, ttl, ARGV[6])
      if channel then
        return { as_stored(), false, channel }
      end
    end
    call('HDEL', P .. 'quiet', record)
  end
end
had = as_stored()
call('HSET', duties, ARGV[2], had)
return { had, taken_from or false, false }
