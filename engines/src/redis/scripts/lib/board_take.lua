-- One take: reads a visible task of a group, and leases it if the caller wants that.

-- Arguments in front of the list of requirements; and places without a record, which damage left, that one take drops.
local ARGUMENTS, MOST_DROPPED = 9, 64

-- Reads the arguments of a take. Returns them and where the next one's begin.
local function read_take(at)
  local board, group, owner, most, high, low, present, lease, until_at = unpack(ARGV, at, at + ARGUMENTS - 1)
  local take = { board = board, group = group, owner = owner, most = tonumber(most), draws = { high, low },
    present = present ~= '' and present or PRESENT, lease = lease, until_at = tonumber(until_at) }
  take.require, at = read_list(at + ARGUMENTS)
  return take, at
end

-- The revision and record of one of the earliest visible tasks; else nothing, and the place of the first task, if any.
local function find_visible(take)
  local key, tasks = places_in(take.board, take.group), of_board('t', take.board)
  for _ = 1, MOST_DROPPED do
    local places = call('ZRANGEBYLEX', key, '-', '[' .. take.present .. LAST_REVISION, 'LIMIT', 0, take.most)
    if not places[1] then
      break
    end
    local place = places[min(take.draws[1] % #places, take.draws[2] % #places) + 1]
    local revision = sub(place, @board_place.revision)
    local record = call('HGET', tasks, revision)
    if record then
      return revision, record
    end
    call('ZREM', key, place)
  end
  return nil, call('ZRANGE', key, 0, 0)[1]
end

-- Leases a task that was found. Returns its new revision and record.
local function lease_task(take, revision, record)
  local changes, leased = changes_of(take.board), take_revisions(take.board, 1)(1)
  take_out(changes, revision, record)
  local new_record = put_in(changes, leased, time_after(take.present, take.lease), take.owner, take.group,
    sub(record, content_at(record)))
  write_changes(changes)
  return leased, new_record
end

-- Carries out a take. Returns its outcome.
local function carry_out_take(take)
  local function answer(letter, ...)
    local counter = format('%.0f', skipped + (call('GET', of_board('c', take.board)) or 0))
    return { letter, take.present, counter, ... }
  end
  local missing = missing_of(take.board, take.require)
  if missing[1] then
    return answer(@board_said.missing, unpack(missing))
  elseif take.lease ~= '' and take.until_at > 0 and now > take.until_at then
    return { @board_said.late }
  end
  local revision, found = find_visible(take)
  if not revision then
    return answer(@board_said.none, found and sub(found, @board_place.at) or '')
  elseif take.lease ~= '' then
    revision, found = lease_task(take, revision, found)
  end
  return answer(@board_said.found, revision, found)
end
