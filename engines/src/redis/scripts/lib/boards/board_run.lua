-- How the revisions of boards stay unique although the server may lose its last writes.
--
-- A board's revisions are dense: its count of them, and what the store skips. `boards:run` notes the server's run, by its
-- replication id, which a restart and a failover change, and a time at which this run wrote. Another run may lack the last
-- writes of the one before, and clients may hold revisions from them. So the store then skips as many revisions as
-- microseconds have passed since that time, and a million more: no board takes one each microsecond.

local RUN, SKIPPED_AT_LEAST = P .. 'boards:run', 1000000

-- The noted run, a time at which it wrote, and how many revisions the store skips; nothing in a store without this note.
local noted_run, noted_at, skipped = unpack(call('HMGET', RUN, 'id', 'at', 'skipped'))

-- A user who may not ask notices no restart.
local function run_id()
  local said = redis.pcall('INFO', 'replication')
  return type(said) == 'string' and string.match(said, 'master_replid:(%w+)') or 'unknown'
end

-- Looks whether the server is in another run than the noted one, which every script does before it gives revisions out.
-- Asking costs the server as much as several commands, so others don't. Writes at most once a second.
local function note_run()
  local current = run_id()
  if noted_run ~= current then
    skipped = format('%d', skipped + math.max(0, now - noted_at) + SKIPPED_AT_LEAST)
    call('HSET', RUN, 'id', current, 'at', NOW, 'skipped', skipped)
    noted_run, noted_at = current, NOW
  elseif now >= noted_at + 1000000 then
    call('HSET', RUN, 'at', NOW)
    noted_at = NOW
  end
end
