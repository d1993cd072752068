#!lua
-- Commits that store new tasks or contents, as lib/boards/board_calls.lua says. Without `allow-oom`: a full server refuses before
-- the first write.
--
-- KEYS[1] the shard's prefix. ARGV and result: see lib/boards/board_calls.lua.

-- include board_calls
