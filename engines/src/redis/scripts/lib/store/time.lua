-- Names and time, shared by all scripts. A script's own arguments follow ARGV[1].
--
-- An include creates its functions each time the code passes it, at a tenth of a microsecond each. So a script that is
-- called often includes the rest only in the branch that needs it.

-- include clock now keys

-- No time, as digits and as a stamp.
local NO_TIME, NO_STAMP = '0000000000000000', '\0\0\0\0\0\0\0'
local function stamp_of(time)
  return pack('>I7', time)
end

local STAMP = stamp_of(now)
