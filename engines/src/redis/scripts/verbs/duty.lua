#!lua flags=no-writes
-- The holder of a duty.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name.
-- Returns it, as claim_duty does, or nothing if the duty is free.

-- include base heartbeats

local duty = call('HGET', P .. 'duties', ARGV[2])
if not duty then
  return false
end
local holder = string.match(duty, '^([^;]*);', @duty.rest.at)
local ends = ends_at('duty:' .. ARGV[2] .. ':' .. holder, sub(duty, @duty.expires_at))
return ends > NOW and sub(duty, @duty.term) .. ends .. sub(duty, @duty.rest.at)
