#!lua
-- Adds edges between stored tasks: all of them, or none. Why no two calls together close a circle is in
-- `dependency/added.rs`. Without `allow-oom`: it adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 how many edges a search for a circle follows at most, 3 how many
-- edges a task has at most; for each edge: its policy, the task that waits, the task that it waits for.
-- Returns a letter for each, `n` if it is new, `e` if it exists; or the place of an edge, from 0, the reason why it can't be
-- added, and what belongs to that; or 0: edges of earlier calls must be stored first, as a circle may lead through them.

-- include base numbers wake moves owned aside lane places edges parents

-- Of how many edges that the tasks have already one call reads the policies.
local MOST_READ, FIRST = 10000, 4

local most_checked, most_edges = tonumber(ARGV[2]), tonumber(ARGV[3])
-- By id: its record, or nothing; and for one that is only remembered its status.
local stored, remembered = {}, {}
-- The edges in their order, and those that are new.
local edges, new, letters = {}, {}, {}

local function read_tasks()
  local ids = {}
  for i = FIRST, #ARGV, 3 do
    edges[#edges + 1] = { place = #edges, policy = ARGV[i], run = ARGV[i + 1], after = ARGV[i + 2] }
    push(ids, ARGV[i + 1], ARGV[i + 2])
  end
  local tombstones = call('HMGET', P .. 'e', unpack(ids))
  for i, record in ipairs(owned(ids, call('HMGET', T, unpack(ids)))) do
    local tombstone = tombstones[i]
    stored[ids[i]] = record
    if tombstone and sub(tombstone, @tombstone.forget_at) > STAMP then
      remembered[ids[i]] = sub(tombstone, @tombstone.state)
    end
  end
end

-- The policies of the edges of a waiting task, by predecessor.
local known_edges, left_to_read = {}, MOST_READ
local function edges_known(edge)
  local id = edge.run
  if not known_edges[id] then
    local entries, known = {}, {}
    if byte(stored[id]) == @state.waiting.byte then
      entries = edges_of(IN, id, nil, left_to_read + 1)
    end
    for _, entry in ipairs(entries) do
      local _, _, on, policy = read_edge(entry)
      known[on] = policy
    end
    left_to_read, known_edges[id] = left_to_read - #entries, known
  end
  return known_edges[id]
end

-- Why an edge can't be added by itself, if it can't.
local function refusal_of(edge)
  local run, after = stored[edge.run], stored[edge.after]
  if not run then
    return 'unknown_run', ''
  elseif is_over(run) or is_running(run) then
    return 'run_started', status_of(run)
  elseif call('HEXISTS', P .. 'k:of', edge.run) == 1 then
    return 'run_is_unique', ''
  elseif not after and not remembered[edge.after] then
    return 'unknown_after', ''
  elseif not after or is_over(after) then
    return 'after_over', after and status_of(after) or remembered[edge.after]
  end
  local policy = edges_known(edge)[edge.after]
  if left_to_read < 0 then
    return 'too_many_to_check', ''
  elseif policy and policy ~= edge.policy then
    return 'other_policy', policy
  end
  letters[#letters + 1] = policy and 'e' or 'n'
  if not policy then
    new[#new + 1] = edge
  end
end

-- By task that waits: how many edges it has with the new ones, and how many of them are signalled. Those that it did not
-- wait for any more do not count.
local counts = {}
local function count_edges()
  for _, edge in ipairs(new) do
    local id = edge.run
    if not counts[id] then
      local known = call('HGET', COUNTS, id) or write_counts(0, 0)
      local total, signals = read_counts(known)
      local is_waiting = byte(stored[id]) == @state.waiting.byte
      counts[id] = { total = is_waiting and total or signals, signals = signals, external = signals_in(known) }
    end
    counts[id].total = counts[id].total + 1
  end
  for _, edge in ipairs(new) do
    if counts[edge.run].total > most_edges then
      return edge, 'too_many'
    end
  end
end

-- Follows edges depth first from tasks; `key` has the stored ones, `added` the new ones by task. Returns a way that leads back
-- to its first task; or false, and whether it met too many edges.
local function find_circle(starts, key, added)
  local left, place_of, is_done, way, open = most_checked, {}, {}, {}, {}
  for _, start in ipairs(starts) do
    open[1] = { start }
    while open[1] do
      local branches = open[#open]
      local id = table.remove(branches)
      if not id then
        open[#open] = nil
        local done = table.remove(way)
        if done then
          is_done[done], place_of[done] = true, nil
        end
      elseif place_of[id] then
        way[#way + 1] = id
        return { unpack(way, place_of[id]) }
      elseif not is_done[id] then
        local next_ones = { unpack(added[id] or {}) }
        for _, entry in ipairs(edges_of(key, id, nil, left + 1)) do
          next_ones[#next_ones + 1] = sub(entry, #id + #ZERO + @edge.rest.at, -3)
        end
        left = left - #next_ones
        if left < 0 then
          return false, true
        end
        way[#way + 1] = id
        place_of[id], open[#open + 1] = #way, next_ones
      end
    end
  end
  return false, false
end

local function reversed(list)
  local turned = {}
  for i = #list, 1, -1 do
    turned[#turned + 1] = list[i]
  end
  return turned
end

-- Follows the successors of the tasks that are to wait, else the predecessors of the others.
local function circle_among_all()
  local runs, afters, out, back = {}, {}, {}, {}
  for i, edge in ipairs(new) do
    runs[i], afters[i] = edge.run, edge.after
    out[edge.after] = out[edge.after] or {}
    table.insert(out[edge.after], edge.run)
    back[edge.run] = back[edge.run] or {}
    table.insert(back[edge.run], edge.after)
  end
  local circle, is_too_long = find_circle(runs, OUT, out)
  if not is_too_long then
    return circle
  end
  circle, is_too_long = find_circle(afters, IN, back)
  return circle and reversed(circle), is_too_long
end

-- Moves the tasks that are scheduled or submitted to those that wait.
local function wait_for_others(high, low, next_high)
  local by_queue, moved = {}, 0
  for _, edge in ipairs(new) do
    local id, record = edge.run, stored[edge.run]
    if byte(record) ~= @state.waiting.byte then
      local name, revision = queue_of(record), number_at(high, low, next_high, moved)
      moved = moved + 1
      by_queue[name] = by_queue[name] or { ids = {}, found = {} }
      table.insert(by_queue[name].ids, id)
      table.insert(by_queue[name].found, record)
      stored[id] = @state.waiting .. revision .. revision .. sub(with_history(record), @lease.ready_at.at)
      push(gathered(name).waiting, revision, id)
    end
  end
  for name, list in pairs(by_queue) do
    leave(name, list.ids, list.found)
    if sized then
      note_out(name, list.ids)
    end
  end
end

-- Tasks hold their new predecessors; those of an earlier life of a task are forgotten.
local function hold_added()
  local added, lists = {}, {}
  for _, edge in ipairs(new) do
    added[edge.run] = (added[edge.run] or @flag.yes) .. edge.after .. ZERO
  end
  for id, list in pairs(added) do
    push(lists, id, list)
  end
  local changes, written = {}, {}
  for i = 1, #lists, 2 do
    local known = call('HGET', PARENTS, lists[i])
    local is_held = known and sub(known, @parents.holds) == @flag.yes
    note_holders(changes, lists[i + 1], 1)
    push(written, lists[i], is_held and known .. sub(lists[i + 1], @parents.rest.at) or lists[i + 1])
  end
  spread('HSET', PARENTS, written)
  change_holders(changes)
end

local function put_edges(since)
  local entries_in, entries_out, counted, is_put = {}, {}, {}, {}
  for _, edge in ipairs(new) do
    push(entries_in, '0', edge_entry(edge.run, since, edge.after, edge.policy))
    push(entries_out, '0', edge_entry(edge.after, since, edge.run, edge.policy))
    for _, id in ipairs({ edge.run, edge.after }) do
      if not is_put[id] then
        is_put[id] = true
        push(records, id, with_link(stored[id]))
      end
    end
  end
  for id, count in pairs(counts) do
    push(counted, id, write_counts(count.total, count.signals) .. count.external)
  end
  spread('ZADD', IN, entries_in)
  spread('ZADD', OUT, entries_out)
  spread('HSET', COUNTS, counted)
end

local function add_all()
  if call('EXISTS', PIECES) == 1 then
    return 0
  end
  read_tasks()
  for _, edge in ipairs(edges) do
    local why, what = refusal_of(edge)
    if why then
      return { edge.place, why, what }
    end
  end
  local edge, why = count_edges()
  if edge then
    return { edge.place, why, '' }
  end
  local circle, is_too_long = circle_among_all()
  if circle then
    return { new[1].place, 'circle', unpack(circle) }
  elseif is_too_long then
    return { new[1].place, 'too_many_to_check', '' }
  end
  local high, low, next_high = take_numbers(1 + #new)
  wait_for_others(high, low, next_high)
  -- Not before the places that tasks just got: older edges would belong to an earlier life of theirs.
  put_edges(number_at(high, low, next_high, #new))
  hold_added()
  write_moves(false)
  thin_lanes()
  return table.concat(letters)
end

return add_all()
