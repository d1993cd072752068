#!lua flags=no-writes
-- Queues in numbers.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2- queues.
-- Answers for each {0 if it is unknown else 1, scheduled, submitted, started, when the longest ready became so or
-- nothing, counters}: counters are pairs of accepted, removed or a finished status' digit, and its count.

-- include base

-- The first of each priority has been ready longest in it.
local function oldest_ready(name)
  local key, oldest = of(name, 'r'), ''
  for rank = -4, 5 do
    local least, below = format('%.0f', rank * 1e15), '(' .. format('%.0f', (rank + 1) * 1e15)
    local id = call('ZRANGEBYSCORE', key, least, below, 'LIMIT', 0, 1)[1]
    local carry = id and call('HGET', A, id)
    local ready_at = carry and sub(carry, 16, 31) or id and sub(call('HGET', T, id) or '', 1, 16) or ''
    if ready_at ~= '' and (oldest == '' or ready_at < oldest) then
      oldest = ready_at
    end
  end
  return oldest
end

local answers = {}
for i = 2, #ARGV do
  local name = ARGV[i]
  local submitted = call('ZCARD', of(name, 'r'))
  answers[i - 1] = {
    call('SISMEMBER', P .. 'queues', name), call('ZCARD', of(name, 's')), submitted,
    -- Not the sentinel, which stands at infinity.
    call('ZCOUNT', of(name, 'l'), '-inf', '(inf'), submitted > 0 and oldest_ready(name) or '',
    call('HGETALL', of(name, 'n')),
  }
end
return answers
