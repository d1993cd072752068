-- Ready tasks that are set aside, behind a shut gate: of limits by key and by task (see gates.lua).
--
-- A gate is `k` and a key, or `t` and a task's name; neither contains a zero byte. Suspects wait behind the gate `!`,
-- which sorts before all others (suspected.lua). Tasks that some workers do not know wait behind `?`, their name, `@`
-- and their version (unknown.lua). By queue:
--
--   p  id by score, as in `r`: a task is in one of the two
--   y  the same, by gate and in the order of claiming: the gate, a zero byte, the score in 17 digits, the id

-- include kind

local NUL = '\0'
local FIRST_SCORE = 5e15

local function aside_place(gate, score, id)
  return gate .. NUL .. format('%017.0f', score + FIRST_SCORE) .. id
end

-- The score and the id of a place behind a gate.
local function read_place(gate, place)
  local place_in = sub(place, #gate + #NUL + 1)
  return format('%.0f', sub(place_in, @aside.score) - FIRST_SCORE), sub(place_in, @aside.rest.at)
end

-- The bounds of the entries of a gate, in `y` and in `h`.
local function bounds_of(gate)
  return '[' .. gate .. NUL, '(' .. gate .. '\1'
end

-- Removes a task from those that are set aside; returns its score, or nil if it was not there.
local function leave_aside(name, id, record)
  local score = call('ZSCORE', of(name, 'p'), id)
  if not score then
    return nil
  end
  call('ZREM', of(name, 'p'), id)
  local task, key, version = told_by(record)
  call('ZREM', of(name, 'y'), aside_place('t' .. (task or ''), score, id), aside_place('k' .. (key or ''), score, id),
    aside_place(@gate.suspect, score, id), aside_place(gate_of_kind(task, version), score, id))
  return score
end
