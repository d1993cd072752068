-- Signals from outside, as in `signal.rs`. They are the last part of what `g` has of their task (see edges.lua).
--
--  g:timeouts  by the time until which they must come: a task's id, a zero byte, the name of its signal

local TIMEOUTS = P .. 'g:timeouts'

-- The signals in what `g` has of a task, each as a `signal`; and what precedes them.
local function read_signals(counts)
  local at, signals = string.find(counts, FIRST_SIGNAL, 1, true), {}
  for signal in string.gmatch(at and sub(counts, at + 1) or '', '[^%z]+') do
    signals[#signals + 1] = signal
  end
  return signals, at and sub(counts, 1, at - 1) or counts
end

local function write_signals(before, signals)
  return signals[1] and before .. FIRST_SIGNAL .. table.concat(signals, ZERO) .. ZERO or before
end

-- Whether a task waits for a signal.
local function is_open(signal)
  return sub(signal, @signal.state) == @signal_state.waiting
end

local function name_of(signal)
  return sub(signal, @signal.rest.at)
end

-- Until when a signal that is waited for must come, if that is known.
local function timeout_of(signal)
  local due = sub(signal, @signal.due)
  return is_open(signal) and due ~= NO_TIME and due or nil
end

-- A signal in a later state.
local function ended_signal(signal, state)
  return state .. sub(signal, @signal.on_timeout.at, @signal.due.last) .. NOW .. name_of(signal)
end

local function timeout_entry(id, signal)
  return id .. ZERO .. name_of(signal)
end

-- The signals of a task that waits for no other task: their timeouts begin, unless they have begun. Notes each in `timeouts`.
local function with_timeouts(id, signals, timeouts)
  for i, signal in ipairs(signals) do
    local timeout = sub(signal, @signal.timeout)
    if is_open(signal) and timeout ~= NO_TIME and sub(signal, @signal.due) == NO_TIME then
      local due = format('%016.0f', now + timeout)
      signals[i] = sub(signal, @signal.state.at, @signal.timeout.last) .. due .. sub(signal, @signal.at.at)
      push(timeouts, due, timeout_entry(id, signal))
    end
  end
  return signals
end

-- How many of the signals in what `g` has of a task are waited for.
local function count_open(counts)
  local open = 0
  for _, signal in ipairs((read_signals(counts))) do
    open = open + (is_open(signal) and 1 or 0)
  end
  return open
end
