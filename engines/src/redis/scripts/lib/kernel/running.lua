-- How many tasks of a queue run: those with a lease of their own, and those in batches (batches.lua).
local function count_running(name)
  return call('ZCOUNT', of(name, 'l'), '-inf', '(inf') + (call('HGET', of(name, 'c'), @batches.left) or 0)
end
