-- Signals that are kept for tasks which do not exist yet.
--
--  g:early  by the time until which they are kept: a task's id, a zero byte, the signal's name

-- include edges external

local KEPT_SIGNALS = P .. 'g:early'

local function kept_entry(id, name)
  return id .. ZERO .. name
end

-- Takes the signals of a new task that are kept for it: these have come. Returns how many.
local function receive_kept(id, signals)
  local received = 0
  for i, signal in ipairs(signals) do
    local entry = kept_entry(id, name_of(signal))
    local kept_until = call('ZSCORE', KEPT_SIGNALS, entry)
    if kept_until then
      call('ZREM', KEPT_SIGNALS, entry)
    end
    if kept_until and tonumber(kept_until) > now then
      received, signals[i] = received + 1, ended_signal(signal, @signal_state.received)
    end
  end
  return received
end
