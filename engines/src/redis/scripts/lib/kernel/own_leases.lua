-- Tasks leave their batches (batches.lua): each by a record of its own, an end or a lease. Call `leave_batches` when they
-- have one.

-- The batches that tasks leave in this step.
local batches_left = {}

-- Notes that the task whose id begins there leaves its batch.
local function leave_batch(batch, at)
  local count = #batch.gone
  if count == 0 then
    batches_left[#batches_left + 1] = batch
  end
  batch.gone[count + 1] = at
end

-- Removes a batch that no task is left in. `counted`: how many tasks the queue still counts in it, with that for which `l` has
-- an entry.
local function drop_batch(name, fence, counted)
  call('ZREM', of(name, 'l'), @leases.batch .. fence)
  call('ZREM', of(name, 'j'), fence)
  call('HDEL', of(name, 'c'), fence, @batches.left .. fence)
  call('HINCRBY', of(name, 'c'), @batches.left, 1 - counted)
end

-- The text of a batch without the ids of the tasks that leave it.
local function text_without(batch)
  local pieces, blank, from = {}, string.rep(' ', batch.length), 1
  table.sort(batch.gone)
  for _, at in ipairs(batch.gone) do
    pieces[#pieces + 1] = sub(batch.text, from, at - 1)
    pieces[#pieces + 1] = blank
    from = at + batch.length
  end
  return table.concat(pieces) .. sub(batch.text, from)
end

-- Takes the tasks out that have left.
local function leave_batches()
  for _, batch in ipairs(batches_left) do
    local key, gone = of(batch.name, 'c'), #batch.gone
    local left = call('HINCRBY', key, @batches.left .. batch.fence, -gone)
    batch.text = text_without(batch)
    if left > 0 then
      call('HSET', key, batch.fence, batch.text)
      call('HINCRBY', key, @batches.left, -gone)
    else
      drop_batch(batch.name, batch.fence, gone + left)
    end
    batch.gone = {}
  end
  batches_left = {}
end

-- Gives a task of a batch a lease of its own, which it writes. Returns it.
local function own_lease(id, batch, at, record)
  local name, lease = batch.name, lease_in(batch, at, record)
  local ends = call('ZSCORE', of(name, 'l'), @leases.batch .. batch.fence)
  call('HSET', T, id, lease)
  call('ZADD', of(name, 'l'), ends or NOW, id)
  leave_batch(batch, at)
  return lease
end

-- The same of a task with this fresh record, if it runs in a batch under this fence; else nothing.
local function own_by_fence(id, fence, record)
  local batch, at = batch_by(id, fence, record)
  return batch and own_lease(id, batch, at, record)
end
