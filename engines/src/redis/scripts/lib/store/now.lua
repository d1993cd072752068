-- The current time as 16 digits. Whole numbers are written by %d: %.0f and `..` take twice as long.

local NOW = format('%016d', now)
