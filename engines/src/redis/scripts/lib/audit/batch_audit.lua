-- The audit of batches of leases (batches.lua). Included by audit.lua, behind `batches` and `own_leases`.

-- Whether a task of a queue runs.
local function runs_in(name, id)
  local _, batch = as_leased(id, call('HGET', T, id))
  return batch or call('ZSCORE', of(name, 'l'), id)
end

-- How many tasks are counted in a batch.
local function counted_in(name, fence)
  return tonumber(call('HGET', of(name, 'c'), @batches.left .. fence) or 0)
end

-- Whether an entry of `l` is that of a batch with tasks that are found by their positions, and counted.
local function check_batch(name, entry)
  local batch, fence = batch_by_entry(name, entry), sub(entry, #@leases.batch + 1)
  local held = batch and #held_in(batch) or 0
  if held == 0 then
    doubtful = doubtful + 1
    return note('place_without_task', entry, 'it is a lease of ' .. name .. ' for a batch without tasks', function()
      drop_batch(name, fence, counted_in(name, fence))
    end)
  end
  local counted = counted_in(name, fence)
  if not call('ZSCORE', of(name, 'j'), fence) then
    local _, _, records = held_in(batch)
    note('unplaced', entry, 'its tasks run, and would count as ready', function()
      call('ZADD', of(name, 'j'), sub(records[1], @fresh.revision), fence)
    end)
  end
  if counted ~= held then
    note('miscounted', name, 'a batch of leases has ' .. held .. ' tasks, and ' .. counted .. ' are counted', function()
      call('HINCRBY', of(name, 'c'), @batches.left .. fence, held - counted)
      call('HINCRBY', of(name, 'c'), @batches.left, held - counted)
    end)
  end
end

-- Batches by their positions: whether they would ever be taken back.
local function audit_batches(name)
  local found = scan('ZSCAN', of(name, 'j'), limit)
  for i = 1, #found[2], 2 do
    local fence = found[2][i]
    local entry, batch = @leases.batch .. fence, batch_with(name, fence)
    looked_at = looked_at + 1
    if not batch then
      note('place_without_task', fence, 'it is in ' .. of(name, 'j') .. ' and is no batch', function()
        call('ZREM', of(name, 'j'), fence)
      end)
    elseif not call('ZSCORE', of(name, 'l'), entry) then
      note('unplaced', fence, 'its tasks run and their lease is not listed: it would never be taken back', function()
        call('ZADD', of(name, 'l'), format('%.0f', now + ARGV[6]), entry)
        note_first({ name }, 'l')
      end)
    end
  end
  return found[1]
end

-- Whether the tasks of all batches of a queue add up.
local function check_batch_counts(name)
  local fences = call('ZRANGE', of(name, 'j'), 0, COUNTED)
  local sum, counted = 0, tonumber(call('HGET', of(name, 'c'), @batches.left) or 0)
  for _, fence in ipairs(fences) do
    sum = sum + counted_in(name, fence) - 1
  end
  if #fences <= COUNTED and sum ~= counted then
    note('miscounted', name, counted .. ' tasks are counted in batches beside the first of each, and it has ' .. sum, function()
      call('HSET', of(name, 'c'), @batches.left, sum)
    end)
  end
end
