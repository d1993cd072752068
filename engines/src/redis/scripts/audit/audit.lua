#!lua flags=no-writes
-- Checks a piece of the store for inconsistencies; `repair.lua` repairs them as well.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the piece (see lib/audit/audit.lua), 3 its queue or hash or
-- nothing, 4 where the piece before ended, or nothing, 5 at most about how many entries.
-- Returns {where the next piece begins or nothing, how many were checked, how many were doubtful, {flaw, subject, detail,
-- 0}, …}.

local MENDS = false
-- include base numbers wake over limits aside lane places gates agenda audit
