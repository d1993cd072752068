-- Batches of leases. Fresh tasks that a claim takes from the front of a lane are leased together: `j` and `c` of their queue
-- have the batch (`batch` in the layout), one entry of `l` has its end, and their records stay as they were submitted. So a
-- fresh record is that of a ready task, or of one that runs in a batch. A script that reads records asks here which, or takes
-- the task out of its batch (owned.lua). Tasks leave a lane in its order, so the position of one tells which batch it can
-- be in. It is in it as long as the batch names it, and its record does not change meanwhile.
--
-- `c` counts the tasks that are left: at `@batches.left` and a fence those of this batch, at `@batches.left` alone those of
-- all but one of each batch. These, and the entries of `l`, are the running tasks of the queue.

-- By queue: whether it has any batches; and those that were read, by their first fences.
local has_some, batches_of = {}, {}

-- What is read of a batch: the fence and the number of its first task, and the number of its last; in its text where the
-- ids begin, how long each is, and where the last begins; what the lease of each says from `started_at` to
-- `worker_length`; and where the ids begin of the tasks that this step takes out.
local function read_batch(name, fence, text)
  local length, worker_length = byte(text, @batch.id_length.at, @batch.worker_length.at)
  local started_at, first_at, first = sub(text, @batch.started_at), @batch.rest.at + worker_length, tonumber(fence)
  local last_at = #text - length + 1
  return {
    name = name, fence = fence, first = first, last = first + (last_at - first_at) / length, text = text,
    first_at = first_at, length = length, last_at = last_at, worker = sub(text, @batch.rest.at, first_at - 1),
    started_at = started_at, facts = started_at .. @attempts.one .. string.char(worker_length), gone = {},
  }
end

local function has_batches(name)
  if has_some[name] == nil then
    has_some[name] = call('EXISTS', of(name, 'j')) == 1
  end
  return has_some[name]
end

-- The batch with this first fence; false if there is none.
local function batch_with(name, fence)
  local known = batches_of[name] or {}
  batches_of[name] = known
  if known[fence] == nil then
    local text = call('HGET', of(name, 'c'), fence)
    known[fence] = text and read_batch(name, fence, text)
  end
  return known[fence]
end

-- Whether a batch has a task with this id there. Compares by `find`, which creates no string.
local function is_at(batch, at, id)
  return #id == batch.length and string.find(batch.text, id, at, true) == at
end

-- The batch that holds a task with this fresh record, and where its id begins; nothing for a task that is ready.
local function batch_of(id, record)
  local name = queue_of(record)
  local position = sub(record, @fresh.revision)
  local fence = has_batches(name) and call('ZREVRANGEBYSCORE', of(name, 'j'), position, '-inf', 'LIMIT', 0, 1)[1]
  local batch = fence and batch_with(name, fence)
  if not batch or position > sub(batch.text, @batch.last_position) then
    return nil
  end
  -- An id may begin within another, or where one ends and the next begins.
  local at = string.find(batch.text, id, batch.first_at, true)
  while at and ((at - batch.first_at) % batch.length ~= 0 or #id ~= batch.length) do
    at = string.find(batch.text, id, at + 1, true)
  end
  if at then
    return batch, at
  end
end

-- The batches that `batch_by` found: most often one or two.
local found_by_fence = {}

-- The batch that holds a task with this fresh record under this fence, and where its id begins; nothing if none does.
local function batch_by(id, fence, record)
  local number, batch = tonumber(fence), nil
  for i = 1, #found_by_fence do
    local known = found_by_fence[i]
    if number >= known.first and number <= known.last then
      batch = known
    end
  end
  if not batch then
    batch = batch_of(id, record)
    if not batch or number < batch.first or number > batch.last then
      return nil
    end
    found_by_fence[#found_by_fence + 1] = batch
  end
  local at = batch.first_at + (number - batch.first) * batch.length
  if is_at(batch, at, id) then
    return batch, at
  end
end

-- The fence of the task whose id begins there.
local function fence_at(batch, at)
  return format('%015d', batch.first + (at - batch.first_at) / batch.length)
end

-- The lease of a task in a batch, from its fresh record, as if it were one of its own.
local function lease_in(batch, at, record)
  return @state.started .. fence_at(batch, at) .. sub(record, @fresh.revision.at, @fresh.submitted_at.last) .. batch.facts
    .. sub(record, @fresh.core.at) .. batch.worker
end

-- The record of a task, or its lease if it runs in a batch, and this batch.
local function as_leased(id, record)
  local batch, at
  if record and byte(record) == @state.fresh.byte then
    batch, at = batch_of(id, record)
  end
  return batch and lease_in(batch, at, record) or record, batch
end

-- The same of several.
local function all_as_leased(ids, found)
  for i, id in ipairs(ids) do
    found[i] = as_leased(id, found[i])
  end
  return found
end

-- The batch of an entry of `l`; nothing for a task, the sentinel, or a batch that is gone. And whether it is that of a batch.
local function batch_by_entry(name, entry)
  local is_batch = #entry == #@leases.sentinel and entry ~= @leases.sentinel
  return is_batch and batch_with(name, sub(entry, #@leases.batch + 1)) or nil, is_batch
end

-- The tasks that a batch holds: their ids, where these begin, and their fresh records.
local function held_in(batch)
  local named, places = {}, {}
  for at = batch.first_at, batch.last_at, batch.length do
    named[#named + 1], places[#places + 1] = sub(batch.text, at, at + batch.length - 1), at
  end
  local ids, ids_at, found = {}, {}, {}
  for i, record in ipairs(call('HMGET', T, unpack(named))) do
    if record and byte(record) == @state.fresh.byte then
      local count = #ids + 1
      ids[count], ids_at[count], found[count] = named[i], places[i], record
    end
  end
  return ids, ids_at, found
end
