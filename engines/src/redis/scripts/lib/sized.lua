-- Whether some queue limits the bytes that wait in it, for scripts that wake nobody.

local note_in, note_out, is_sized, bytes_in, bytes_stored
local sized = call('EXISTS', P .. 'sizes') == 1
if sized then
  -- include records sizes
end
