-- Deletes tasks that waited only for others that were deleted.

-- include unique remove withdrawn

-- Deletes waiting tasks: {id, record}. Their successors see the same.
local function delete_waiting(deleted)
  local by_queue, high, low, next_high = {}, take_numbers(1)
  for _, task in ipairs(deleted) do
    local id, record = unpack(task)
    local name = queue_of(record)
    by_queue[name] = by_queue[name] or { ids = {}, found = {} }
    table.insert(by_queue[name].ids, id)
    table.insert(by_queue[name].found, record)
    if watched then
      finished[#finished + 1] = id
    end
  end
  for name, gone in pairs(by_queue) do
    note_withdrawn(gone.ids, gone.found, @gone.cascade, number_at(high, low, next_high, 0))
    spread('ZREM', of(name, 'd'), gone.ids)
    if sized then
      note_out(name, gone.ids)
    end
    erase(name, gone.ids)
  end
end
