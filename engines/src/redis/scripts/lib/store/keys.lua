-- The names of keys.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. Every key begins with it, so all of them share its hash tag and
-- are in one slot. `keys.rs` documents what each key holds, `layout.rs` the strings in them: a name with an @ is a position or a
-- letter of its table.

-- By id: records, bodies, errors, news.
local T, B, H, X = P .. 't', P .. 'b', P .. 'h', P .. 'x'

-- The key of a part of a queue: r ready, d waiting, s scheduled, l leases, f finished, w and b waiting workers, n
-- counters, g a rate's mark, i the mark of the rate of submissions, z what waiting tasks count in bytes, m and o its history.
local function of(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end
