-- Takes ready tasks if not all of them are in the lane, or it has ghosts. Included only in the branch that needs it.

local MAX_ROUNDS = 200

-- How many of the lane's first entries come before a score.
local function count_before(name, score, most)
  local entries = call('LRANGE', of(name, 'q'), 0, most - 1)
  for i, entry in ipairs(entries) do
    if tonumber(sub(entry, @entry.revision)) > score then
      return i - 1
    end
  end
  return #entries
end

-- Takes the ids of the first ready tasks of lane and sorted set, in one order. May take fewer than exist, after many
-- ghosts.
local function take_merged(name, limit)
  local ids, set, lane = {}, of(name, 'r'), of(name, 'q')
  may_compare = may_compare - drop_ghosts(name, may_compare)
  for _ = 1, MAX_ROUNDS do
    local wanted = limit - #ids
    local first, head = call('ZRANGE', set, 0, 0, 'WITHSCORES'), call('LINDEX', lane, 0)
    if wanted == 0 or may_compare <= 0 or not head and not first[1] then
      break
    end
    local position, score = head and sub(head, @entry.revision), tonumber(first[2])
    if score and (not head or score < tonumber(position)) then
      local before = head and call('ZCOUNT', set, '-inf', '(' .. position) or wanted
      local popped = call('ZPOPMIN', set, min(wanted, before))
      for i = 1, #popped, 2 do
        ids[#ids + 1] = popped[i]
      end
    else
      local entries, compared = pop_lane(name, score and count_before(name, score, wanted) or wanted)
      may_compare = may_compare - compared
      for _, entry in ipairs(entries) do
        ids[#ids + 1] = sub(entry, @entry.rest.at)
      end
    end
  end
  return ids
end
