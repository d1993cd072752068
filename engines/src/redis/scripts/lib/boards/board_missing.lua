-- Requirements of commits and takes.

-- Those that do not exist of the revisions in these arguments, each once.
local function missing_of(board, first, last)
  local missing, seen, tasks = {}, {}, of_board('t', board)
  for i = first, last do
    local revision = ARGV[i]
    if not seen[revision] and call('HEXISTS', tasks, revision) == 0 then
      missing[#missing + 1] = revision
    end
    seen[revision] = true
  end
  return missing
end
