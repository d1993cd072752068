#!lua
-- Creates or replaces the record of a run. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id, 3 the digits of the revision it must be at, or nothing if there
-- must be none, 4 when there is something to do, or nothing, 5 state, 6 when it was created, in 16 digits, 7 the run, 8 how
-- many runs a store holds, 9 the definition of a new one.
-- Answers {'done', revision}, {'exists'}, {'unknown'}, {'changed'} or {'many'}.

-- include base numbers workflows

local id, stored = ARGV[2], run_of(ARGV[2])
if ARGV[3] == '' then
  if stored then
    return { 'exists' }
  elseif call('HLEN', RUNS) >= tonumber(ARGV[8]) then
    return { 'many' }
  end
  call('HSET', DEFINITIONS, id, ARGV[9])
elseif not stored then
  return { 'unknown' }
elseif sub(stored, @run.revision) ~= ARGV[3] then
  return { 'changed' }
else
  displace_run(id, stored)
end
return { 'done', store_run(id, ARGV[4], ARGV[5], ARGV[6], ARGV[7]) }
