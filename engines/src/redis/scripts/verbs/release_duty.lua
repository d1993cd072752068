#!lua flags=allow-oom
-- A holder gives its duty back. It stays known, so that terms go on growing.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 holder.

-- include base heartbeats

local duty = call('HGET', P .. 'duties', ARGV[2])
local record = 'duty:' .. ARGV[2] .. ':' .. ARGV[3]
if duty and string.match(duty, '^([^;]*);', @duty.rest.at) == ARGV[3] and ends_at(record, sub(duty, @duty.expires_at)) > NOW then
  call('HSET', P .. 'duties', ARGV[2], sub(duty, @duty.term) .. NOW .. sub(duty, @duty.rest.at))
  call('HDEL', P .. 'quiet', record)
end
