-- Finding one's way in a queue's list of finished tasks, which is in the order of their revisions.

-- The first place in a queue's list of finished tasks at or after a revision.
local function place_of_revision(list, revision)
  local low, high = 0, call('LLEN', list)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if sub(call('LINDEX', list, middle), @entry.revision) < revision then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end
