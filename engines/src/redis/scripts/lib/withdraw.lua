-- Cancelling a task that does not run.

-- A lease for a task that has none: a fence of zeros, and what its earlier attempts left behind.
local function lease_of(id, record)
  local ready_at, attempt, crashes, started_at, worker = sub(record, 1, 16), '000000', '000', NO_TIME, ''
  local carry = call('HGET', A, id)
  if carry then
    ready_at, attempt, crashes = sub(carry, 16, 31), sub(carry, 32, 37), sub(carry, 38, 40)
    started_at, worker = sub(carry, 41, 56), sub(carry, 58)
  end
  local place = format('%17s', '0')
  return 'L' .. NO_NUMBER .. started_at .. ready_at .. attempt .. crashes .. sub(record, 33, 38) .. place
    .. queue_of(record) .. ';' .. worker
end

local function withdraw(id, record, revision)
  local name, lease = queue_of(record), lease_of(id, record)
  if call('ZREM', of(name, 'r'), id) == 0 and call('ZREM', of(name, 's'), id) == 0 then
    leave_aside(name, id, record)
  end
  if sized then
    note_out(name, { id })
  end
  call('HDEL', A, id)
  finish(gathered(name), id, CANCELLED, revision, '0', 'N', lease)
end
