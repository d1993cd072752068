#!lua flags=no-writes
-- Reads a catalogue of tasks, unless it has expired.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 its digest.
-- Returns its text, or nothing.

-- include base

local expires_at = call('ZSCORE', P .. 'catalogues:expiry', ARGV[2])
if not expires_at or tonumber(expires_at) <= now then
  return false
end
return call('HGET', P .. 'catalogues', ARGV[2])
