#!lua
-- Sends a signal from outside to a task, as `signal.lua`, or keeps it for a task that does not exist yet. Without `allow-oom`: it
-- adds to the store.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 the task's id, 3 the signal's name, 4 for how many microseconds it is
-- kept, 5 how many signals are kept at most.
-- Returns as `signal.lua`; or `k` and until when it is kept, 16 digits; `m` if that are too many.

-- include base kept_signals

local function send(ARGV)
  -- include signal
end

local function keep(id, name)
  local tombstone, entry = call('HGET', P .. 'e', id), kept_entry(id, name)
  if tombstone and sub(tombstone, @tombstone.forget_at) > STAMP then
    return @signalled.unknown_task
  end
  local before = call('ZSCORE', KEPT_SIGNALS, entry)
  if not before and call('ZCARD', KEPT_SIGNALS) >= tonumber(ARGV[5]) then
    return @signalled.too_many
  end
  local until_then = math.max(now + ARGV[4], tonumber(before or 0))
  call('ZADD', KEPT_SIGNALS, format('%.0f', until_then), entry)
  return @signalled.kept .. format('%016.0f', until_then)
end

local answer = send(ARGV)
return answer == @signalled.unknown_task and keep(ARGV[2], ARGV[3]) or answer
