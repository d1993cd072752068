#!lua flags=no-writes
-- A piece of the list of tasks that wait: one section, queue by queue.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the section (r submitted by score, s scheduled by due time, d waiting
-- by revision, then id), 3 a limit, 4 and 5 where the piece before ended in the first queue (score or due time;
-- id), empty for its beginning, 6- queues.
-- Returns {how many queues are done, the score after which the next one goes on or nothing, views (see view.lua), …}. Where
-- to go on after a view, its record says; a score is only answered where many ghosts were passed over.

-- include base batches view over lane

local section, limit = ARGV[2], tonumber(ARGV[3])
local views, done, goes_on_after = {}, 0, ''

-- By score, then id. Members of one score are in the order of their ids, so the place after (score, id) can be searched.
local function placed(key, score, id, wanted, with_scores)
  local low = 0
  if score ~= '' then
    low = call('ZCOUNT', key, '-inf', '(' .. score)
    local high = low + call('ZCOUNT', key, score, score)
    while low < high do
      local middle = math.floor((low + high) / 2)
      if call('ZRANGE', key, middle, middle)[1] <= id then
        low = middle + 1
      else
        high = middle
      end
    end
  end
  if with_scores then
    return call('ZRANGE', key, low, low + wanted - 1, 'WITHSCORES')
  end
  return call('ZRANGE', key, low, low + wanted - 1)
end

-- One list of ids and scores behind another.
local function with(one, other)
  for _, value in ipairs(other) do
    one[#one + 1] = value
  end
  return one
end

-- The first of a list of ids and scores, in their order, up to a score if one is given.
local function first_of(list, wanted, last)
  local entries, ids = {}, {}
  for i = 1, #list, 2 do
    local score = tonumber(list[i + 1])
    if not last or score <= last then
      entries[#entries + 1] = { score = score, id = list[i] }
    end
  end
  table.sort(entries, function(a, b) return a.score < b.score or a.score == b.score and a.id < b.id end)
  for i = 1, min(wanted, #entries) do
    ids[i] = entries[i].id
  end
  return ids
end

-- Tasks of the lane after a score, with their scores; and where it stopped, if it did.
local function in_lane(name, score, wanted)
  local lane, found, first = of(name, 'q'), {}, 0
  if score ~= '' and tonumber(score) >= 1e15 then
    return found
  elseif score ~= '' and tonumber(score) > 0 then
    first = place_of_revision(lane, format('%015.0f', score + 1))
  end
  local entries, stopped_at = read_in_lane(name, first, wanted)
  for i, entry in ipairs(entries) do
    found[2 * i - 1], found[2 * i] = sub(entry, @entry.rest.at), sub(entry, @entry.revision)
  end
  return found, stopped_at
end

-- Submitted tasks, in the lane or not, including those that are set aside; up to where it stopped, if it did.
local function submitted(name, score, id, wanted)
  local found, stopped_at = in_lane(name, score, wanted)
  for _, part in ipairs({ 'r', 'p' }) do
    if call('EXISTS', of(name, part)) == 1 then
      found = with(found, placed(of(name, part), score, id, wanted, true))
    end
  end
  return first_of(found, wanted, tonumber(stopped_at)), stopped_at
end

for i = 6, #ARGV do
  local score, id = '', ''
  if i == 6 then
    score, id = ARGV[4], ARGV[5]
  end
  local wanted = limit - #views
  local ids, stopped_at
  if section == 'r' then
    ids, stopped_at = submitted(ARGV[i], score, id, wanted)
  else
    ids = placed(of(ARGV[i], section), score, id, wanted)
  end
  for _, found in ipairs(ids) do
    views[#views + 1] = view(found, true)
  end
  if #ids == wanted then
    break
  elseif stopped_at then
    goes_on_after = stopped_at
    break
  end
  done = done + 1
end
return { done, goes_on_after, unpack(views) }
