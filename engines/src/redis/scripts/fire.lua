#!lua
-- One step of a schedule, if it still has its revision: submits its task, unless its latest run is not over and the step
-- holds it back, and stores the schedule's new state. Without `allow-oom`: a full server refuses before
-- the first write.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 the digits of its revision, 4 the task of its latest run, or
-- nothing, 5 what is done while that is not over: s submit, c submit and cancel that one, h hold, 6 when there is something
-- to do next, or nothing, 7 settings and state, 8 and 9 the same of a schedule that is held, 10- what submit.lua takes from 2
-- on, of one task, or nothing.
-- Returns {'done', revision, submit.lua's answer if there was a task}, {'held', revision}, {'changed'}, or {'refused',
-- submit.lua's answer}.

-- include base numbers schedules

local function take_in(ARGV)
  -- include submit
end

local function cancel_run(ARGV)
  -- include cancel
end

local name, previous, if_busy = ARGV[2], ARGV[4], ARGV[5]
if revision_of(name) ~= ARGV[3] then
  return { 'changed' }
end
local record = previous ~= '' and call('HGET', T, previous)
local is_busy = record and not is_over(record)
if is_busy and if_busy == @fire.hold then
  return { 'held', store_schedule(name, ARGV[8], ARGV[9]) }
end
local answer
if ARGV[10] then
  answer = take_in({ ARGV[1], unpack(ARGV, 10) })[1]
  -- One letter for one task; a refusal is a word.
  if answer ~= 1 and #answer[1] > 1 then
    return { 'refused', answer }
  end
end
if is_busy and if_busy == @fire.cancel then
  cancel_run({ ARGV[1], previous })
end
return { 'done', store_schedule(name, ARGV[6], ARGV[7]), answer }
