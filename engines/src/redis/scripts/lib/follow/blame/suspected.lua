-- Ready tasks that are suspected of crashing their workers: they are set aside (see aside.lua), behind a gate of their
-- own, so that a claim takes few of them. The set `suspects` names the queues that may have some.

-- Puts suspects, {score, id, …}, behind their gate.
local function put_suspects(name, list)
  local places = {}
  for i = 1, #list, 2 do
    places[i], places[i + 1] = 0, @gate.suspect .. '\0' .. format('%017.0f', list[i] + 5e15) .. list[i + 1]
  end
  spread('ZADD', of(name, 'p'), list)
  spread('ZADD', of(name, 'y'), places)
  call('SADD', P .. 'suspects', name)
end
