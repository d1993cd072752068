#!lua flags=no-writes
-- The whole task.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 id.
-- Returns nothing for an unknown task, else its view (see view.lua), its errors and its parameters if they are stored separately.

-- include base batches view

local seen = view(ARGV[2], false)
if not seen then
  return false
end
return { seen, call('HGET', H, ARGV[2]) or '', call('HGET', B, ARGV[2]) or '' }
