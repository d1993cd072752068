-- Takes `count` numbers, at most 1,000, of the store's one counter, each greater than any before. A block: it sets `high`, the
-- leading 12 digits of the first, `low`, its last three as a number, and `next_high`: if any of them has others, the leading
-- digits of those after the next thousand.
--
-- The counter is never behind the clock, and never ahead of it for long, because no store takes a million numbers a second. So
-- numbers keep growing even after the server lost its last writes, by a crash or a failover. Most often the clock is ahead,
-- so the counter is set to it first, and put right if it was not behind.

local first, last, is_ahead = math.max(now - @counter.first_number_at, 1), math.max(count, 1) - 1, false
local high, low, next_high
while true do
  low = first % 1000
  local leading, place = (first - low) / 1000, low + last
  high, next_high = format('%012d', leading), place >= 1000 and format('%012d', leading + 1) or nil
  local final = place < 1000 and high .. sub(THREE, 3 * place + 1, 3 * place + 3)
    or next_high .. sub(THREE, 3 * place - 2999, 3 * place - 2997)
  local before = tonumber(call('SET', P .. 'c', final, 'GET') or 0)
  if is_ahead or before < first then
    break
  end
  first, is_ahead = before + 1, true
end
