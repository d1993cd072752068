-- Tasks of kinds that some workers of their queue do not know. Included, behind `aside`, only if a queue may have some
-- that are set aside.
--
-- A claim that refuses kinds sets their ready tasks aside (gates.lua), behind a gate of the kind, so that no later
-- claim that refuses the kind walks past them. A claim that does not refuse it lets as many return as it may claim. The
-- set `unknown` names the queues that may have such tasks.

-- How many gates one claim looks at.
local MAX_KINDS = 200

-- include pass

-- Lets the first `wanted` tasks of each kind return that the claim does not refuse; `refused` are gates, or nil.
local function let_return(name, refused, wanted)
  if call('SISMEMBER', P .. 'unknown', name) == 0 then
    return
  end
  local after = '[' .. @gate.unknown
  for looked_at = 1, MAX_KINDS do
    local place = call('ZRANGEBYLEX', of(name, 'y'), after, '(@', 'LIMIT', 0, 1)[1]
    if not place then
      if looked_at == 1 then
        call('SREM', P .. 'unknown', name)
      end
      return
    end
    local gate = sub(place, 1, string.find(place, NUL, 1, true) - 1)
    if not (refused and refused[gate]) then
      let_pass(name, gate, wanted)
    end
    after = '(' .. gate .. '\1'
  end
end
