#!lua flags=allow-oom
-- Checks a piece of the store for inconsistencies, and repairs what is certain.
--
-- KEYS[1] the shard's prefix. ARGV: as of `audit.lua`, and 6 how long a lease lasts that is found nowhere, in
-- microseconds: as long as its worker needs to renew it if it lives.
-- Returns as `audit.lua`, with a 1 for what was repaired.

local MENDS = true
-- include base numbers wake over limits aside lane places gates agenda audit
