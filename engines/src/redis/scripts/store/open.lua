#!lua flags=allow-oom
-- Creates a new store, or reads the existing one's version.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 this program's schema version, 3 1 if this process has used the
-- store before, which has lost its data if it is new (`emptied` says when that was found), else 0, 4 the version before, whose
-- stores it takes over, or 0, 5- the
-- fields of a new store's configuration and their values.
-- Returns {the schema's version, 1 if the store is new else 0}.

-- include base counter queue board_run

local schema = call('GET', P .. 'schema')
if schema == ARGV[4] then
  -- What the version before wrote is right for this one.
  schema = ARGV[2]
  call('SET', P .. 'schema', schema)
end
local is_readable = not schema or schema == ARGV[2]
if is_readable and skipped then
  note_run()
elseif is_readable then
  -- Clients may hold revisions of boards that are lost: none of them counted up to this number.
  local lost = ARGV[3] == @flag.yes and not schema and now - FIRST_NUMBER_AT or 0
  call('HSET', RUN, 'id', run_id(), 'at', NOW, 'skipped', format('%.0f', lost))
end
if schema then
  return { schema, 0 }
end
if ARGV[3] == @flag.yes then
  call('SET', P .. 'emptied', NOW)
end
call('SET', P .. 'schema', ARGV[2])
-- A version that grows even if the store is emptied and created again, so that workers notice.
call('HSET', P .. 'config', 'version', format('%.0f', math.max(1, math.floor(now / 1000))))
for i = 5, #ARGV, 2 do
  call('HSET', P .. 'config', ARGV[i], ARGV[i + 1])
  local name = string.match(ARGV[i], '^queue:(.*)$')
  if name then
    add_queue(name, false)
  end
end
return { ARGV[2], 1 }
