#!lua flags=no-writes
-- Looks over a piece of the store for what does not agree; `repair.lua` mends it as well.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 what to look over (see lib/audit.lua), 3 its queue or hash or
-- nothing, 4 where the piece before ended, or nothing, 5 at most about how many entries.
-- Answers {where the next piece begins or nothing, how many were looked at, {flaw, subject, detail, 0}, …}.

local MENDS = false
-- include base numbers wake over limits aside lane places gates agenda edges audit
