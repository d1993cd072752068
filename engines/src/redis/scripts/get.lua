#!lua flags=no-writes
-- Everything known of a task.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 id.
-- Answers nothing for an unknown task, else its view (see view.lua), its errors and its parameters if they lie apart.

-- include base view

local seen = view(ARGV[2], false)
if not seen then
  return false
end
return { seen, call('HGET', H, ARGV[2]) or '', call('HGET', B, ARGV[2]) or '' }
