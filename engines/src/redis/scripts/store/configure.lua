#!lua flags=allow-oom
-- Changes the configuration, if it is still the one the change was made from.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the version it was made from, 3 field, or nothing to create the
-- queues from 13 on, which a role serves by a pattern, without settings of their own, 4 value, or nothing to delete the
-- field, 5 1 if the field is a paused queue, 6 the change's id. A change that is sent again, because its answer got
-- lost, is answered as the first time, unless another came between. 7 the limits of a queue (see limits.lua), or
-- nothing, 8 its limits by key and by task (see gates.lua), or nothing,
-- 9 its max_bytes, or nothing, 10 1 if all live workers must be among those from 13 on, which the change was decided by.
-- 11 for how many microseconds after its end a task with a chosen id is remembered. 12 its keep_parameters, or nothing for
-- the default.
-- Deleting a queue deletes its finished tasks, 1,000 a call.
-- Returns {'done', version}, {'stale'}, {'live', how many} for a queue with live tasks, {'more'}.

-- include base running heartbeats numbers wake over unique aside lane places remove tombstones trim queue

local config = P .. 'config'
local version = call('HGET', config, 'version') or '0'
if version ~= ARGV[2] then
  if call('HGET', config, 'change') == ARGV[6] then
    return { 'done', tonumber(version) }
  end
  return { 'stale' }
end
if ARGV[10] == '1' then
  local decided_by = {}
  for i = 13, #ARGV do
    decided_by[ARGV[i]] = true
  end
  local workers = call('HGETALL', P .. 'workers')
  for i = 1, #workers, 2 do
    if not decided_by[workers[i]] and ends_at('worker:' .. workers[i], sub(workers[i + 1], @report.expires_at)) > NOW then
      return { 'stale' }
    end
  end
end
local name = string.match(ARGV[3], '^queue:(.*)$')

if name and ARGV[4] == '' then
  local live = count_waiting(name) + count_running(name)
  if live > 0 then
    return { 'live', live }
  end
  trim(name, 0, STAMP, 1000, 2000, false, 0, 0, tonumber(ARGV[11]))
  if call('EXISTS', of(name, 'f')) == 1 then
    return { 'more' }
  end
  for _, part in ipairs({ 'q', 'x', 'l', 'w', 'b', 'n', 'g', 'i', 'p', 'y', 'h', 'e', 't', 'v', 'k', 'z', 'm', 'o', 'j', 'c' }) do
    call('UNLINK', of(name, part))
  end
  for _, bounds in ipairs({ 'due', 'expiring', 'pruning' }) do
    call('ZREM', P .. bounds, name)
  end
  call('ZREM', P .. 'queues', name)
  call('SREM', P .. 'paused', name)
  call('HDEL', P .. 'limits', name)
  call('HDEL', P .. 'gates', name)
  for _, hash in ipairs({ 'sizes', 'sized', 'sizing', 'keeps' }) do
    call('HDEL', P .. hash, name)
  end
elseif name then
  add_queue(name, ARGV[5] == '1')
  if call('EXISTS', of(name, 'f')) == 1 then
    -- Its retention may have changed.
    call('ZADD', P .. 'pruning', 0, name)
  end
  if ARGV[7] == '' then
    call('HDEL', P .. 'limits', name)
  else
    call('HSET', P .. 'limits', name, ARGV[7])
  end
  if ARGV[8] ~= '' or call('EXISTS', of(name, 'p')) == 1 then
    if ARGV[7] == '' then
      -- Tasks that are set aside return over time; until then the queue counts as one with limits.
      call('HSET', P .. 'limits', name, '0 0 0 0 0 0 0 0')
    end
    call('HSET', P .. 'gates', name, ARGV[8])
    -- Claims first note the holders of slots from the leases, before they lease any task.
    call('SET', of(name, 'v'), '')
    call('SET', of(name, 'k'), '0')
    call('UNLINK', of(name, 'h'))
  else
    call('HDEL', P .. 'gates', name)
    for _, part in ipairs({ 'h', 'e', 't', 'v', 'k' }) do
      call('UNLINK', of(name, part))
    end
  end
  if ARGV[9] ~= '' then
    if call('HSET', P .. 'sizes', name, ARGV[9]) == 1 then
      call('HSET', P .. 'sized', name, 0)
      call('HSET', P .. 'sizing', name, 'q0')
    end
  elseif call('HDEL', P .. 'sizes', name) == 1 then
    call('HDEL', P .. 'sized', name)
    call('HDEL', P .. 'sizing', name)
    call('UNLINK', of(name, 'z'))
  end
  if ARGV[12] == '' then
    call('HDEL', P .. 'keeps', name)
  else
    call('HSET', P .. 'keeps', name, ARGV[12])
  end
  -- All workers are notified of the change, and then wait again.
  call('DEL', of(name, 'b'))
end

if ARGV[3] == '' then
  for i = 13, #ARGV do
    call('ZADD', P .. 'queues', 0, ARGV[i])
  end
elseif ARGV[4] == '' then
  call('HDEL', config, ARGV[3])
else
  call('HSET', config, ARGV[3], ARGV[4])
end
call('HSET', config, 'change', ARGV[6])
version = call('HINCRBY', config, 'version', 1)
call('PUBLISH', P .. 'all', 'config')
return { 'done', version }
