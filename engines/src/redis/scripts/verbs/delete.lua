#!lua flags=allow-oom
-- Deletes tasks by their ids, unless they run.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 what their successors see: d deleted, or c if those that then wait
-- for no other task are deleted too, 3- ids, at most 1,000.
-- Returns a letter for each: d deleted, r it runs, u unknown.

-- include base numbers wake moves batches over unique aside lane places remove withdrawn

local gone, answers, is_seen = {}, {}, {}
local ids = { unpack(ARGV, 3) }
local found = all_as_leased(ids, call('HMGET', T, unpack(ids)))
for i, record in ipairs(found) do
  local id = ARGV[i + 2]
  if not record or is_seen[id] then
    answers[i] = @deleted.unknown
  elseif is_running(record) then
    answers[i] = @deleted.running
  else
    local name = queue_of(record)
    gone[name] = gone[name] or { waiting = {}, over = {} }
    local list = is_over(record) and gone[name].over or gone[name].waiting
    list[#list + 1] = id
    if watched then
      finished[#finished + 1] = id
    end
    answers[i], is_seen[id] = @deleted.done, true
  end
end
local high, low, next_high = take_numbers(1)
for name, lists in pairs(gone) do
  remove(name, lists.waiting, false, function(ids, records)
    note_withdrawn(ids, records, ARGV[2], number_at(high, low, next_high, 0))
  end)
  remove(name, lists.over, true)
end
write_moves(true)
return table.concat(answers)
