#!lua flags=no-writes
-- All that is stored of some tasks.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2- ids.
-- Returns for each nothing if it is unknown, else its view with all its edges (see view.lua), its errors, its parameters
-- if they are stored separately, if it was the last to take its unique key what `k:of` has of it, and the predecessors it
-- holds, a zero byte after each.

-- include base spread batches view unique parents

local answers = {}
for i = 2, #ARGV do
  local id = ARGV[i]
  local seen, kept = view(id, false, -1), call('HGET', SAID, id)
  if kept and call('HGET', HOLDERS, key_in(said_in(kept))) ~= id then
    kept = nil
  end
  local list = call('HGET', PARENTS, id)
  local parents = list and sub(list, @parents.holds) == @flag.yes and sub(list, @parents.rest.at) or ''
  answers[i - 1] = seen and { seen, call('HGET', H, id) or '', call('HGET', B, id) or '', kept or '', parents } or false
end
return answers
