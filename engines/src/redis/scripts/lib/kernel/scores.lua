-- Scores of ready tasks in a sorted set: by priority, then by position.

local DEFAULT_PRIORITY = '5'

-- The score of a ready task: by priority, then by position.
local function score_of(priority, position)
  if priority == DEFAULT_PRIORITY then
    return position
  end
  return (5 - priority) * 1e15 + tonumber(position)
end

-- The score of a task with this record, which is not that of a finished one.
local function score_in(record)
  if byte(record) == @state.fresh.byte then
    return score_of(sub(record, @fresh.priority), sub(record, @fresh.revision))
  end
  return score_of(sub(record, @lease.priority), sub(record, @lease.position))
end
