-- Tombstones of deleted tasks whose ids their clients chose.

local TOMBSTONES, BURIED = P .. 'e', P .. 'e:order'
-- How many tombstones this call has added, and how many more than that it sweeps at most.
local buried, SPARE_SWEEPS = 0, 200

-- Remembers finished tasks of one queue that are about to be deleted, at most 1,000, until `age` microseconds after their
-- ends. Returns how many.
local function bury(name, ids, ended, age)
  local tombstones, order = {}, {}
  for i, record in ipairs(ended) do
    if byte(record, @ending.remember.at) == @flag.yes.byte then
      local forget_at = unpack_at('>I7', record, @ending.completed_at.at) + age
      if forget_at > now then
        local stamp, count = stamp_of(forget_at), #order
        tombstones[2 * count + 1] = ids[i]
        tombstones[2 * count + 2] = stamp .. sub(record, @ending.state) .. sub(record, @ending.completed_at)
          .. sub(record, @ending.fingerprint) .. name
        order[count + 1] = stamp .. ids[i]
      end
    end
  end
  spread('HSET', TOMBSTONES, tombstones)
  spread('RPUSH', BURIED, order)
  buried = buried + #order
  return #order
end

-- How many of the oldest entries may go, the ids whose tombstones go with them, and whether one goes before its time.
-- Skips an entry whose id is no longer remembered, or remembered again. The first `surplus` entries always go.
local function find_expired(entries, ids, surplus)
  local kept, passed, gone, is_cut = call('HMGET', TOMBSTONES, unpack(ids)), 0, {}, false
  for i, entry in ipairs(entries) do
    local forget_at = unpack_at('>I7', entry, @buried.forget_at.at)
    if kept[i] and sub(kept[i], @tombstone.forget_at) == sub(entry, @buried.forget_at) then
      if forget_at > now and i > surplus then
        break
      end
      is_cut = is_cut or forget_at > now
      gone[#gone + 1] = ids[i]
    end
    passed = i
  end
  return passed, gone, is_cut
end

-- Forgets expired tombstones, and the oldest of those beyond `bound`: a bounded number, and more than this call has
-- added.
local function sweep_tombstones(bound)
  local surplus = call('LLEN', BURIED) - bound
  local oldest = call('LINDEX', BURIED, 0)
  if not oldest or surplus <= 0 and unpack_at('>I7', oldest, @buried.forget_at.at) > now then
    return
  end
  local entries, ids = call('LRANGE', BURIED, 0, buried + SPARE_SWEEPS - 1), {}
  for i, entry in ipairs(entries) do
    ids[i] = sub(entry, @buried.rest.at)
  end
  local passed, gone, is_cut = find_expired(entries, ids, surplus)
  call('LTRIM', BURIED, passed, -1)
  spread('HDEL', TOMBSTONES, gone)
  if is_cut then
    call('SET', P .. 'e:cut', NOW)
  end
end
