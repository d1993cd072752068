#!lua flags=allow-oom
-- Deletes a run with its definition.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id, 3 the digits of the revision it must be at.
-- Answers `done`, `unknown` or `changed`.

-- include base numbers workflows

local id, stored = ARGV[2], run_of(ARGV[2])
if not stored then
  return 'unknown'
elseif sub(stored, @run.revision) ~= ARGV[3] then
  return 'changed'
end
displace_run(id, stored)
call('HDEL', RUNS, id)
call('HDEL', DEFINITIONS, id)
return 'done'
