#!lua
-- Creates or replaces a schedule. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 the digits of the revision it must be at, or nothing if there
-- must be none, 4 when there is something to do, or nothing, 5 settings and state, 6 how many schedules a store holds.
-- Returns {'done', revision}, {'exists'}, {'unknown'}, {'changed'} or {'many'}.

-- include base numbers schedules

local revision = revision_of(ARGV[2])
if ARGV[3] == '' then
  if revision then
    return { 'exists' }
  elseif call('HLEN', SCHEDULES) >= tonumber(ARGV[6]) then
    return { 'many' }
  end
elseif not revision then
  return { 'unknown' }
elseif revision ~= ARGV[3] then
  return { 'changed' }
end
return { 'done', store_schedule(ARGV[2], ARGV[4], ARGV[5]) }
