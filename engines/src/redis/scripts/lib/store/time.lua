-- Names and time, shared by all scripts.
--
-- KEYS[1] is the shard's prefix, e.g. `jobbers:{0}:`. Every key begins with it, so all of them share its hash tag and
-- are in one slot; Lua builds their names here and nowhere else. `keys.rs` documents what each key holds, `layout.rs`
-- the strings in them: a name with an @ is a position or a letter of its table. A script's own arguments follow ARGV[1].
--
-- An include creates its functions each time the code passes it, at a tenth of a microsecond each. So a script that is
-- called often includes the rest only in the branch that needs it.

-- include clock

local pack, unpack_at = struct.pack, struct.unpack
-- No time, as digits and as a stamp.
local NO_TIME, NO_STAMP = '0000000000000000', '\0\0\0\0\0\0\0'
-- By id: records, bodies, errors, news.
local T, B, H, X = P .. 't', P .. 'b', P .. 'h', P .. 'x'

-- The key of a part of a queue: r ready, d waiting, s scheduled, l leases, f finished, w and b waiting workers, n
-- counters, g a rate's mark, i the mark of the rate of submissions, z what waiting tasks count in bytes, m and o its history.
local function of(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end

local function stamp_of(time)
  return pack('>I7', time)
end

local STAMP = stamp_of(now)
