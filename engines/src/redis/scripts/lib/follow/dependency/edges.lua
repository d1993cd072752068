-- Edges between tasks. Only tasks whose records say that they are linked have any.
--
--  g      by id: how many dependencies a task has, and how many of them are signalled
--  g:in   edges that are not signalled, by the task that waits: its id, a zero byte, an `edge` to its predecessor
--  g:out  the same once more, by the task that is waited for
--  g:due  ends of tasks that are still to be signalled to some successors, the oldest first
--  g:pieces  edges that are still to be stored, of tasks that wait for many others: a `piece` each, those of a task in
--            their order. While there are any, `g:due` has an entry
--  g:unsent  by id: the latest end of a task in `g:due` with edges left, by the revision before which these were made
--
-- All entries of one set have the score 0, so that they are in the order of their bytes.

local COUNTS, IN, OUT, DUE, UNSENT, PIECES = P .. 'g', P .. 'g:in', P .. 'g:out', P .. 'g:due', P .. 'g:unsent', P .. 'g:pieces'
local ZERO = '\0'
-- What precedes the signals from outside in what `g` has of a task (see external.lua).
local FIRST_SIGNAL = '\1'

-- Edges of a task, at most `limit`: those made before a revision, or all, and from another one on, if it is given. A limit
-- in digits costs less than a number.
local function edges_of(key, id, before, limit, from)
  return call('ZRANGEBYLEX', key, '[' .. id .. ZERO .. (from or ''), '(' .. id .. (before and ZERO .. before or '\1'),
    'LIMIT', '0', limit)
end

-- Leaves the rest of an end to later steps. Until then a later end of the task does not concern these edges.
local function put_off_end(id, status, before)
  call('ZADD', DUE, 0, before .. status .. id)
  local known = call('HGET', UNSENT, id)
  if not known or known < before then
    call('HSET', UNSENT, id, before)
  end
end

-- Whether a task has dependencies, or others have depended on it, and whether it ends by itself: a letter of `linked`.
local function link_in(record)
  local at = core_at(record) - 1 + @core.linked.at
  return sub(record, at, at)
end

-- The record of a task with the mark that others depend on it.
local function with_link(record)
  local at = core_at(record) - 1 + @core.linked.at
  return link_in(record) ~= @linked.no and record or sub(record, 1, at - 1) .. @linked.yes .. sub(record, at + 1)
end

-- An entry of `g:in` or `g:out`: its task, since when, the task at the other end, and the policy.
local function read_edge(entry)
  local zero = string.find(entry, ZERO, 1, true)
  local edge = sub(entry, zero + 1)
  return sub(entry, 1, zero - 1), sub(edge, @edge.since), sub(edge, @edge.rest.at, -3), sub(edge, -1)
end

local function edge_entry(id, since, other, policy)
  return id .. ZERO .. since .. other .. ZERO .. policy
end

-- Of many tasks the counts are the same, so these are written and read once.
local written_counts, read_totals, read_signalled = {}, {}, {}

local function write_counts(total, signals)
  local number = total * 1000000 + signals
  local counts = written_counts[number] or format('%012.0f', number)
  written_counts[number] = counts
  return counts
end

-- The signals in what `g` has of a task, as they are.
local function signals_in(counts)
  local at = string.find(counts, FIRST_SIGNAL, 1, true)
  return at and sub(counts, at) or ''
end

local function read_counts(counts)
  if not read_totals[counts] then
    read_totals[counts] = tonumber(sub(counts, @dependent.total))
    read_signalled[counts] = tonumber(sub(counts, @dependent.signals))
  end
  return read_totals[counts], read_signalled[counts]
end
