-- Ends tasks of batches that were completed, by records that the program has written which leased them (`server/batches.rs`): to
-- store them costs less than to write them here. No record is read, so a task whose record changes has left its batch.

-- include batches own_leases

-- Ends `count` tasks of one batch, three arguments each from `at`: id, place in its batch from 0, and the record from
-- `dead_letter` on. Adds a letter for each to `answers`: the digit of the status, or `written` if it is not in the batch.
local function end_in_batch(name, batch, count, at, answers)
  local high, low, next_high = take_numbers(count)
  local queue = gathered(name)
  local unbatched = queue.unbatched
  queue.ran_since = batch.started_at
  for i = 1, count do
    local argument = at + 3 * i - 3
    local id, tail = ARGV[argument], ARGV[argument + 2]
    local id_at = batch.first_at + ARGV[argument + 1] * batch.length
    local answer = @settled.written
    if is_at(batch, id_at, id) then
      local leading, place = high, low + i - 1
      if place >= 1000 then
        leading, place = next_high, place - 1000
      end
      local last = sub(THREE, 3 * place + 1, 3 * place + 3)
      local record = @state.completed .. leading .. last .. STAMP .. tail
      local is_remembered = byte(tail, @ending.remember.at - @ending.completed_at.last) == @flag.yes.byte
      put_end(queue, id, record, @state.completed, leading, last, is_remembered)
      leave_batch(batch, id_at)
      unbatched[#unbatched + 1], answer = id, @state.completed
    end
    answers[#answers + 1] = answer
  end
end

-- The same of `count` batches, from `at`: queue, first fence, the version of the configuration by which the records were
-- written, how many tasks, and these. Returns a letter for each task.
local function end_batches(count, at)
  local answers, version = {}, call('HGET', P .. 'config', 'version')
  for _ = 1, count do
    local name, tasks = ARGV[at], tonumber(ARGV[at + 3])
    local batch = ARGV[at + 2] == version and batch_with(name, ARGV[at + 1])
    if batch then
      end_in_batch(name, batch, tasks, at + 4, answers)
    else
      answers[#answers + 1] = string.rep(@settled.written, tasks)
    end
    at = at + 4 + 3 * tasks
  end
  leave_batches()
  return table.concat(answers)
end
