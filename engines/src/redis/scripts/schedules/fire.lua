#!lua
-- One step of a schedule, if it still has its revision: submits its task or creates the run of its workflow, unless its
-- latest run is not over and the step holds it back, and stores the schedule's new state. Without `allow-oom`: a full
-- server refuses before the first write.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 name, 3 the digits of its revision, 4 what is done while its latest
-- run is not over: s start, c start and cancel that run, h hold, 5 when there is something to do next, or nothing,
-- 6 settings and state, 7 and 8 the same of a schedule that is held, 9 its latest run: t a task, w a workflow that is not
-- over, or nothing, 10 how many arguments there are about it; these: the id of a task, or what put_workflow.lua takes from
-- 2 on to cancel a workflow; then what is started: t a task, w a workflow, or nothing; and what submit.lua takes from 2 on, of
-- one task, or what put_workflow.lua does.
-- Returns {'done', revision, the answer of the script that started it, if any}, {'held', revision}, {'changed'}, or
-- {'refused', the answer of the script that refused}.

-- include base numbers schedules workflows

local function take_in(ARGV)
  -- include submit
end

local function cancel_task(ARGV)
  -- include cancel
end

local function put_run(ARGV)
  -- include put_workflow
end

local name, if_busy, latest, first = ARGV[2], ARGV[4], ARGV[9], 11
if revision_of(name) ~= ARGV[3] then
  return { 'changed' }
end
local is_busy = false
if latest == @run_kind.task then
  local record = call('HGET', T, ARGV[first])
  is_busy = record and not is_over(record)
elseif latest == @run_kind.workflow then
  local stored = run_of(ARGV[first])
  if not stored or sub(stored, @run.revision) ~= ARGV[first + 1] then
    return { 'changed' }
  end
  is_busy = true
end
if is_busy and if_busy == @fire.hold then
  return { 'held', store_schedule(name, ARGV[7], ARGV[8]) }
end

-- What is started, and the first argument about it.
local last = first + tonumber(ARGV[10]) - 1
local kind, started_at = ARGV[last + 1], last + 2
local answer
if kind == @run_kind.task then
  answer = take_in({ ARGV[1], unpack(ARGV, started_at) })[1]
  -- One letter for one task; a refusal is a word.
  if answer ~= 1 and #answer[1] > 1 then
    return { 'refused', answer }
  end
elseif kind == @run_kind.workflow then
  answer = put_run({ ARGV[1], unpack(ARGV, started_at) })
  if answer[1] ~= 'done' then
    return { 'refused', answer }
  end
end
if is_busy and if_busy == @fire.cancel then
  if latest == @run_kind.task then
    cancel_task({ ARGV[1], ARGV[first] })
  else
    put_run({ ARGV[1], unpack(ARGV, first, last) })
  end
end
return { 'done', store_schedule(name, ARGV[5], ARGV[6]), answer }
