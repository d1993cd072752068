-- Drops tasks that a claim found expired. Included behind `records`, `scores` and `moves`.

-- Ends tasks, each given with its queue, id and record, for which `worker` asked. Returns their last records.
local function drop_expired(expired, worker)
  local high, low, next_high = take_numbers(#expired)
  local dropped = {}
  for i, entry in ipairs(expired) do
    local queue, id, record = unpack(entry)
    record = with_history(record)
    -- The attempt that the worker would have begun.
    note_error(id, sub(record, 1, @lease.started_at.last) .. two_bytes(1) .. sub(record, @lease.crashes.at,
      @lease.blames.last) .. string.char(#worker) .. worker, @failure.expired)
    finish(gathered(queue), id, record, @state.dropped, number_at(high, low, next_high, i - 1),
      sub(record, @lease.dead_letter), @by.store, NO_NUMBER)
    dropped[i] = records[#records]
  end
  return dropped
end
