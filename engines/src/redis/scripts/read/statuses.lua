#!lua flags=no-writes
-- Where tasks stand: stored ones, and deleted ones that are remembered.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2- ids.
-- Answers a letter per task: the digit of its status, or - for one that is neither.

-- include base batches

if not ARGV[2] then
  return ''
end
local ids = { unpack(ARGV, 2) }
local records, answer = all_as_leased(ids, call('HMGET', T, unpack(ids))), {}
for i, record in ipairs(records) do
  answer[i] = record and status_of(record) or '-'
  if not record then
    local tombstone = call('HGET', P .. 'e', ARGV[i + 1])
    if tombstone and sub(tombstone, @tombstone.forget_at) > STAMP then
      answer[i] = sub(tombstone, @tombstone.state)
    end
  end
end
return table.concat(answer)
