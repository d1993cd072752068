#!lua flags=allow-oom
-- Takes a free duty, or renews one.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 holder, 4 microseconds, 5 note.
-- Returns {the holder, as stored}, and a new holder also receives the previous holder's note.

-- include base

local duties = P .. 'duties'
local before, term = call('HGET', duties, ARGV[2]), 1
local taken_from
if before then
  term = tonumber(sub(before, @duty.term))
  local holder, note = string.match(before, '^([^;]*);(.*)$', @duty.rest.at)
  if holder ~= ARGV[3] then
    if sub(before, @duty.expires_at) > NOW then
      return { before }
    end
    term, taken_from = term + 1, note
  end
end
local had = format('%015.0f%016.0f', term, min(now + ARGV[4], 9e15)) .. ARGV[3] .. ';' .. ARGV[5]
call('HSET', duties, ARGV[2], had)
return { had, taken_from }
