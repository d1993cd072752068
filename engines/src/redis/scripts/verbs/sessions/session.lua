#!lua flags=no-writes
-- A session of the pages that has not ended.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id.
-- Returns it, or nothing.

-- include base

local expires_at = call('ZSCORE', P .. 'sessions:expiry', ARGV[2])
return expires_at and tonumber(expires_at) > now and call('HGET', P .. 'sessions', ARGV[2])
