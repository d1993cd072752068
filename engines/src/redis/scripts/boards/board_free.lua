#!lua flags=allow-oom
-- Takes, and commits that store nothing new, as lib/boards/board_calls.lua says: a full server is emptied by them.
--
-- KEYS[1] the shard's prefix. ARGV and result: see lib/boards/board_calls.lua.

-- include board_calls
