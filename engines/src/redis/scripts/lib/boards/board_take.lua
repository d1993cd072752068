-- One take: reads a visible task of a group, and leases it if the caller wants that.

-- Arguments in front of the requirements; and places without a record, which damage left, that one take drops.
local ARGUMENTS, MOST_DROPPED = 10, 64

-- The place and the record of one of the earliest tasks up to a time: of how many, and two random numbers that choose.
-- Nothing if no task is visible.
local function find_visible(places, tasks, present, most, high, low)
  local last = '[' .. present .. LAST_REVISION
  for _ = 1, MOST_DROPPED do
    local found = call('ZRANGEBYLEX', places, '-', last, 'LIMIT', '0', most)
    local place = found[2] and found[min(high % #found, low % #found) + 1] or found[1]
    local record = place and call('HGET', tasks, sub(place, @board_place.revision))
    if record or not place then
      return place, record
    end
    call('ZREM', places, place)
  end
end

-- Gives a task another revision, owner and time. Returns the revision and the record.
local function lease_task(board, places, tasks, place, record, owner, at)
  local old, revision = sub(place, @board_place.revision), revision_of(take_revisions(board, '1') + 1)
  local leased = at .. owner .. sub(record, @board_task.group_length.at)
  -- The new one first, so that the group is never empty.
  call('ZADD', places, '0', at .. revision)
  call('ZREM', places, place)
  call('HDEL', tasks, old)
  call('HSET', tasks, revision, leased)
  if has_labels(record, content_at(record)) then
    -- include board_labels
    for _, label in ipairs(labels_of(record, content_at(record))) do
      call('ZREM', of_board('l', board), label .. old)
      call('ZADD', of_board('l', board), '0', label .. revision)
    end
  end
  has_written = true
  return revision, leased
end

local function counter_of(board)
  return format('%d', skipped + (call('GET', of_board('c', board)) or 0))
end

-- Carries out a take. Returns its outcome and where the next arguments begin.
function carry_out_take(at)
  local board, group, owner, most, high, low, present, lease, until_at, requires = unpack(ARGV, at, at + ARGUMENTS - 1)
  local next_at = at + ARGUMENTS + requires
  present = present ~= '' and present or PRESENT
  if requires ~= '0' then
    -- include board_missing
    local missing = missing_of(board, at + ARGUMENTS, next_at - 1)
    if missing[1] then
      table.insert(missing, 1, @board_said.missing)
      table.insert(missing, 2, present)
      table.insert(missing, 3, counter_of(board))
      return missing, next_at
    end
  end
  if lease ~= '' and until_at ~= '0' and now > tonumber(until_at) then
    return { @board_said.late }, next_at
  end
  local places, tasks = places_in(board, group), of_board('t', board)
  local place, record = find_visible(places, tasks, present, most, high, low)
  if not place then
    local first = call('ZRANGE', places, '0', '0')[1]
    return { @board_said.none, present, counter_of(board), first and sub(first, @board_place.at) or '' }, next_at
  elseif lease == '' then
    return { @board_said.found, present, counter_of(board), sub(place, @board_place.revision), record }, next_at
  end
  local revision, leased = lease_task(board, places, tasks, place, record, owner, time_after(present, lease))
  return { @board_said.found, present, revision, revision, leased }, next_at
end
