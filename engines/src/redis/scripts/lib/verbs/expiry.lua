-- Tasks that expire. Included only where the record of a ready task says that it may.

-- Microseconds of the units in which durations are stored, and the place of the policy in the open part of a record, an
-- array (`record.rs`).
local MICROS, POLICY_PLACE = { us = 1, ms = 1e3, s = 1e6, m = 6e7, h = 3.6e9, d = 8.64e10 }, 5

-- Whether a ready task that was never leased has expired. A value that can't be read holds no task back.
local function has_expired(record)
  local core_at, since = @fresh.core.at, sub(record, @fresh.submitted_at)
  if byte(record) ~= @state.fresh.byte then
    if sub(record, @lease.started_at) ~= NO_STAMP then
      return false
    end
    core_at, since = @lease.core.at, sub(record, @lease.ready_at)
  end
  local queue_at = core_at + @core.queue.at - 2
  local queue_length = byte(record, core_at + @core.queue_length.at - 1)
  local is_read, _, open = pcall(cmsgpack.unpack_one, record, queue_at + queue_length)
  local policy = is_read and type(open) == 'table' and open[POLICY_PLACE]
  local said = type(policy) == 'table' and policy.expires_in or ''
  local count, unit = string.match(said, '^(%d+)(%a+)$')
  return count and MICROS[unit] and unpack_at('>I7', since) + count * MICROS[unit] <= now
end
