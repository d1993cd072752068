#!lua flags=allow-oom
-- Deletes a schedule.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 the digits of the revision it must be at, or nothing.
-- Returns `done`, `unknown` or `changed`.

-- include base numbers schedules

local revision = revision_of(ARGV[2])
if not revision then
  return 'unknown'
elseif ARGV[3] ~= '' and revision ~= ARGV[3] then
  return 'changed'
end
call('HDEL', SCHEDULES, ARGV[2])
call('ZREM', BY_NAME, ARGV[2])
call('ZREM', BY_TIME, ARGV[2])
return 'done'
