-- Ids that clients chose and whose tasks were pruned. For a submission they are taken like the ids of stored tasks.

local BLANK = string.rep('0', @ending.queue.at)

-- A tombstone as the record of a finished task, as far as submissions read it.
local function record_in(tombstone)
  local queue = sub(tombstone, @tombstone.rest.at)
  return sub(tombstone, @tombstone.state) .. sub(BLANK, @ending.revision.at, @ending.submitted_at.last)
    .. sub(tombstone, @tombstone.fingerprint) .. sub(BLANK, @ending.size.at, @ending.open_length.last)
    .. string.char(#queue) .. queue
end

local asked, places = {}, {}
for _, group in ipairs(groups) do
  for _, run in ipairs(group.runs) do
    for place = run.place, run.kind.is_chosen and run.place + run.count - 1 or 0 do
      asked[#asked + 1], places[#places + 1] = ids[place], place
    end
  end
end
for i, tombstone in ipairs(call('HMGET', P .. 'e', unpack(asked))) do
  local place = places[i]
  has_tombstone[place] = tombstone and true
  if tombstone and not stored[place] and sub(tombstone, @tombstone.forget_at) > STAMP then
    stored[place], is_remembered[place] = record_in(tombstone), true
  end
end
