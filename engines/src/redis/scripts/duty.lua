#!lua flags=no-writes
-- Who has a duty.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 name.
-- Answers who has it, as claim_duty does, or nothing when it is free.

-- include base

local duty = call('HGET', P .. 'duties', ARGV[2])
return duty and sub(duty, @duty.expires_at) > NOW and duty
