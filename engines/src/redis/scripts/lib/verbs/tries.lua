-- The tries of tasks, as in common's `policy.rs`.

local NO_TRIES, MOST_TRIES = byte('0'), 100

-- What the end of a lease means for its task's tries: whether the lease counts as an attempt; and if it was the last, the
-- status that the task ends with, and whether it is then a dead letter.
local function tries_of(lease)
  local tries = byte(lease, @lease.tries.at) - NO_TRIES
  if tries == 0 then
    return false
  end
  local is_aborted = tries > MOST_TRIES
  if number_in(lease, @lease.attempt) < (is_aborted and tries - MOST_TRIES or tries) then
    return true
  elseif is_aborted then
    return true, @state.aborted, @flag.no
  end
  return true, @state.failed, sub(lease, @lease.dead_letter)
end
