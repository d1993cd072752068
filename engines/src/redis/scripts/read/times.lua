#!lua flags=no-writes
-- When tasks last started and when they were over: stored ones, and the ends of deleted ones that are remembered.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2- ids.
-- Answers two stamps per task, started_at and finished_at; zeros where it is not known.

-- include base batches

if not ARGV[2] then
  return ''
end
local ids = { unpack(ARGV, 2) }
local records, answer = all_as_leased(ids, call('HMGET', T, unpack(ids))), {}
for i, record in ipairs(records) do
  local started_at, finished_at = NO_STAMP, NO_STAMP
  if not record then
    local tombstone = call('HGET', P .. 'e', ARGV[i + 1])
    if tombstone and sub(tombstone, @tombstone.forget_at) > STAMP then
      finished_at = sub(tombstone, @tombstone.finished_at)
    end
  elseif is_over(record) then
    started_at, finished_at = sub(record, @ending.started_at), sub(record, @ending.completed_at)
  elseif byte(record) ~= @state.fresh.byte then
    started_at = sub(record, @lease.started_at)
  end
  answer[i] = started_at .. finished_at
end
return table.concat(answer)
