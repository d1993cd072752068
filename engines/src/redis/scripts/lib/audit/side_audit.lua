-- The audit of what is stored beside tasks: side hashes, unique keys, and dead letters. Included by audit.lua.

-- Values may be large and are read too, so few are checked in one step.
local function audit_beside(hash)
  local key = P .. hash
  local found = scan('HSCAN', key, math.max(1, min(limit, 50)))
  for i = 1, #found[2], 2 do
    local id = found[2][i]
    looked_at = looked_at + 1
    if call('HEXISTS', T, id) == 0 then
      note('orphan', id, 'it has an entry in ' .. key .. ' and no record', function()
        call('HDEL', key, id)
      end)
    end
  end
  return found[1]
end

local function audit_keys()
  local found = scan('HSCAN', P .. 'k', limit)
  for i = 1, #found[2], 2 do
    local key, id = found[2][i], found[2][i + 1]
    looked_at = looked_at + 1
    if call('HEXISTS', T, id) == 0 then
      note('orphan', id, 'it holds a unique key and has no record', function()
        call('HDEL', P .. 'k', key)
      end)
    end
  end
  return found[1]
end

local function audit_outbox()
  local found = scan('HSCAN', P .. 'o', math.max(1, min(limit, 10)))
  for i = 1, #found[2], 2 do
    local key = found[2][i]
    looked_at = looked_at + 1
    if not call('ZSCORE', P .. 'o:order', key) then
      note('unplaced', sub(key, @entry.rest.at), 'a dead letter that nobody would fetch', function()
        call('ZADD', P .. 'o:order', 0, key)
      end)
    end
  end
  return found[1]
end

local function audit_order()
  local found = scan('ZSCAN', P .. 'o:order', limit)
  for i = 1, #found[2], 2 do
    local key = found[2][i]
    looked_at = looked_at + 1
    if call('HEXISTS', P .. 'o', key) == 0 then
      note('place_without_task', sub(key, @entry.rest.at), 'a dead letter that is not there', function()
        call('ZREM', P .. 'o:order', key)
      end)
    end
  end
  return found[1]
end
