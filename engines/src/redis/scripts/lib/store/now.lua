-- The current time as 16 digits.

local NOW = format('%016.0f', now)
