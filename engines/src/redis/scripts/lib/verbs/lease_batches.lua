-- Leases the tasks `ids` of a lane in batches (batches.lua); their fences follow one another, and `entries` are theirs. Most often a
-- worker settles as many at a time as it claims, and each settlement reads its whole batch.
local key, places, texts, ends = of(name, 'c'), {}, {}, {}
local before_ids = STAMP .. string.char(#ids[1], #worker) .. worker
for from = 1, #ids, @batch.most do
  local last, fence, at = min(from + @batch.most - 1, #ids), number_at(high, low, next_high, from - 1), #places
  places[at + 1], places[at + 2] = sub(entries[from], @entry.revision), fence
  ends[at + 1], ends[at + 2] = deadline, @leases.batch .. fence
  texts[2 * at + 1], texts[2 * at + 2] = fence, sub(entries[last], @entry.revision) .. before_ids .. table.concat(ids, '', from, last)
  texts[2 * at + 3], texts[2 * at + 4] = @batches.left .. fence, format('%d', last - from + 1)
end
spread('ZADD', of(name, 'j'), places)
spread('HSET', key, texts)
call('HINCRBY', key, @batches.left, format('%d', #ids - #places / 2))
spread('ZADD', of(name, 'l'), ends)
