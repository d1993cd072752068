#!lua flags=no-writes
-- Tasks that run, queue by queue, in no order.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 at about how many leases to stop, 3 where the walk of the first queue
-- goes on (0 at its beginning), 4- queues.
-- Returns {queues that are done, where the walk of the next one goes on, and of each queue that was looked at a table of
-- entries: fence and id}. A lease may be answered twice while its queue changes; one that stays is not missed.

-- include base batches

local limit, cursor, seen, done = tonumber(ARGV[2]), ARGV[3], 0, 0
local answers = {}
for i = 4, #ARGV do
  local entries = {}
  answers[#answers + 1] = entries
  repeat
    local found = call('ZSCAN', of(ARGV[i], 'l'), cursor, 'COUNT', 250)
    local ids = {}
    cursor = found[1]
    for place = 1, #found[2], 2 do
      local batch = batch_by_entry(ARGV[i], found[2][place])
      if batch then
        local held, ids_at = held_in(batch)
        for at, id in ipairs(held) do
          entries[#entries + 1] = fence_at(batch, ids_at[at]) .. id
        end
        seen = seen + #held
      else
        ids[#ids + 1] = found[2][place]
      end
    end
    for place, lease in ipairs(#ids > 0 and call('HMGET', T, unpack(ids)) or {}) do
      if lease and is_running(lease) then
        entries[#entries + 1] = sub(lease, @lease.revision) .. ids[place]
      end
    end
    seen = seen + #ids
  until cursor == '0' or seen >= limit
  if cursor ~= '0' then
    break
  end
  done = done + 1
  if seen >= limit then
    break
  end
end
return { done, cursor, unpack(answers) }
