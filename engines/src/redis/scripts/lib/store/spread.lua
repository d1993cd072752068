-- Commands with long lists of arguments.

-- Runs a command whose list of arguments may be long; unpack dies at about 8,000. Pairs stay together.
local function spread(command, key, list)
  local count = #list
  for first = 1, count, 1000 do
    call(command, key, unpack(list, first, min(first + 999, count)))
  end
end
