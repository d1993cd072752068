#!lua flags=no-writes
-- The holder of a duty.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name.
-- Returns it, as claim_duty does, or nothing if the duty is free.

-- include base

local duty = call('HGET', P .. 'duties', ARGV[2])
return duty and sub(duty, @duty.expires_at) > NOW and duty
