#!lua flags=no-writes
-- Predecessors of a task, and how they ended.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the task's id, 3 the only predecessor to read, or empty for a page
-- of all, 4 at which of them the page begins, 5 how many it has at most, 6 how many bytes of results it has at most; it has
-- at least one.
-- Returns how many predecessors the task has, and for each on the page its id and its status, with the result behind it, or
-- nothing for one that is neither stored, held nor remembered.

-- include base spread batches parents

local function find(id)
  local record = as_leased(id, call('HGET', T, id))
  if record then
    return is_over(record) and result_in(record) or status_of(record)
  end
  local kept = call('HGET', HELD_RESULTS, id)
  if kept then
    return kept
  end
  local tombstone = call('HGET', P .. 'e', id)
  return tombstone and sub(tombstone, @tombstone.forget_at) > STAMP and sub(tombstone, @tombstone.state) or ''
end

local total, bytes, page = 0, 0, {}
local first, limit, most, is_full = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), false
for on in each_parent(call('HGET', PARENTS, ARGV[2]) or '') do
  local is_wanted = ARGV[3] == on or ARGV[3] == '' and total >= first and total < first + limit
  if is_wanted and not is_full then
    local found = find(on)
    local line_end = string.find(found, '\n', 1, true)
    bytes = bytes + (line_end and #found - line_end or 0)
    is_full = page[1] and bytes > most
    if not is_full then
      page[#page + 1] = on
      page[#page + 1] = found
    end
  end
  total = total + 1
end
return { total, page }
