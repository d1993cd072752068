-- The names of keys.

-- By id: records, bodies, errors, news.
local T, B, H, X = P .. 't', P .. 'b', P .. 'h', P .. 'x'

-- The key of a part of a queue: r ready, d waiting, s scheduled, l leases, f finished, w and b waiting workers, n
-- counters, g a rate's mark, i the mark of the rate of submissions, z what waiting tasks count in bytes, m and o its history.
local function of(queue, part)
  return P .. 'q:' .. queue .. ':' .. part
end
