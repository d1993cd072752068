#!lua flags=no-writes
-- The latest errors of tasks.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- ids.
-- Returns for each a history with the latest error alone; empty for a task without errors.

-- include base

local latest = {}
for i = 2, #ARGV do
  local history, at = call('HGET', H, ARGV[i]) or '', @history.rest.at
  local error_at
  while at <= #history do
    error_at = at
    at = at + @error.at.at - 1 + sub(history, at, at + @error.length.last - 1)
  end
  latest[i - 1] = error_at and '001' .. sub(history, error_at) or ''
end
return latest
