-- How the revisions of boards stay unique although the server may lose its last writes.
--
-- A board's revisions are dense: its count of them, and what the store skips. `boards:run` notes the server's run, by its
-- replication id, which a restart and a failover change, and a time at which this run wrote. Another run may lack the last
-- writes of the one before, and clients may hold revisions from them. So the store then skips as many revisions as
-- microseconds have passed since that time, and a million more: no board takes one each microsecond.

local RUN, SKIPPED_AT_LEAST = P .. 'boards:run', 1000000

-- A user who may not ask notices no restart.
local function run_id()
  local said = redis.pcall('INFO', 'replication')
  return type(said) == 'string' and string.match(said, 'master_replid:(%w+)') or 'unknown'
end

-- How many revisions the store skips; nothing for a store without this note. Writes at most once a second.
local function note_run()
  local noted = call('HMGET', RUN, 'id', 'at', 'skipped')
  local id, at, skipped = unpack(noted)
  if not id then
    return nil
  end
  local current = run_id()
  if id ~= current then
    skipped = format('%.0f', skipped + math.max(0, now - at) + SKIPPED_AT_LEAST)
    call('HSET', RUN, 'id', current, 'at', format('%.0f', now), 'skipped', skipped)
  elseif now >= at + 1000000 then
    call('HSET', RUN, 'at', format('%.0f', now))
  end
  return tonumber(skipped)
end
