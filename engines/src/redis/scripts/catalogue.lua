#!lua flags=no-writes
-- Reads a catalogue of tasks, unless its time is over.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 its digest.
-- Answers its text, or nothing.

-- include base

local expires_at = call('ZSCORE', P .. 'catalogues:expiry', ARGV[2])
if not expires_at or tonumber(expires_at) <= now then
  return false
end
return call('HGET', P .. 'catalogues', ARGV[2])
