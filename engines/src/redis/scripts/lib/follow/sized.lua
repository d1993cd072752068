-- Whether any queue limits its waiting bytes, for scripts that wake no worker.

local note_in, note_out, is_sized, bytes_in, bytes_stored
local sized = call('EXISTS', P .. 'sizes') == 1
if sized then
  -- include spread records sizes
end
