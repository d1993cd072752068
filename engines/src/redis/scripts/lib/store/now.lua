-- The current time as 16 digits. Whole numbers are written by %d: %.0f, `..` and a command whose argument is a number take three
-- times as long.

local NOW = format('%016d', now)
