-- Heartbeats of workers and of the holders of duties, without a write.
--
-- A registration and a duty hold for seconds and are renewed all the time. A renewal that changes nothing but the end
-- is a *beat*: the process subscribes to a channel whose name says which record it renews and until when, by the end's
-- number in steps of the record's *grain*. The server drops the subscription with the connection; one of a process that
-- hangs names an end that passes. `quiet` has the records that were renewed so since they were last written, each with
-- its grain and the process. A beat's end is rounded up, so that a record may last one grain longer.

-- include listeners

-- For how many grains a record holds.
local GRAINS, LONGEST_GRAIN = 5, 99
-- For how long after its start a server may lack beats because processes have not come back to it yet, in seconds.
local COMES_BACK = 10

local function channel_of(record, number)
  return P .. 'beat:' .. record .. ':' .. format('%.0f', number)
end

local function has_just_started()
  local found = redis.pcall('INFO', 'server')
  local seconds = not found.err and string.match(found, 'uptime_in_seconds:(%d+)')
  return seconds and tonumber(seconds) < COMES_BACK
end

-- Until when a record holds: as it was written, or as its beats say.
local function ends_at(record, written)
  local quiet = call('HGET', P .. 'quiet', record)
  if not quiet then
    return written
  end
  local grain, instance = tonumber(sub(quiet, @quiet.grain)), sub(quiet, @quiet.instance)
  local next_end = math.floor(now / 1000000 / grain) + 1
  local channels = { P .. 'instance:' .. instance }
  for i = 0, GRAINS do
    channels[i + 2] = channel_of(record, next_end + i)
  end
  local counts = listeners_of(channels) or {}
  for i = GRAINS, 0, -1 do
    if (counts[i + 2] or 0) > 0 then
      return format('%016.0f', (next_end + i) * grain * 1000000)
    end
  end
  if written <= NOW and counts[1] == 0 and has_just_started() then
    return format('%016.0f', now + 1000000)
  end
  return written
end

-- Renews a record, which holds now, for a time in microseconds. Returns the channel that the process has to subscribe to;
-- nothing if the record has to be written.
local function beat(record, ttl, instance)
  local grain = math.ceil(ttl / 1000000 / GRAINS)
  if ttl < GRAINS * 1000000 or grain > LONGEST_GRAIN then
    return nil
  end
  local channel = channel_of(record, math.ceil((now + ttl) / 1000000 / grain))
  local quiet = format('%02.0f', grain) .. instance
  if call('HGET', P .. 'quiet', record) ~= quiet then
    if not listeners_of({ channel }) then
      return nil
    end
    call('HSET', P .. 'quiet', record, quiet)
  end
  return channel
end
