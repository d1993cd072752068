#!lua flags=allow-oom
-- The worker's loop in one step: settles what finished, tends what time brought about, claims what fits, and registers
-- the worker as waiting when nothing was claimed.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the present, 2 worker, 3 instance, 4 the slot of this request, 5 the request's id,
-- 6 `again` when an earlier sending may have been carried out, 7 how many settlements, then these (see settle.lua);
-- then how many queues the worker may stand waiting in, and their names; then nothing, or: limit, lease in
-- microseconds, and pairs of queue and limit.
-- Answers {settled, claims of each queue (see claim.lua), ids with a cancel request, configuration's version,
-- microseconds to the next due task or -1, the present}.

-- include base wake moves tend settle claim

local TEND_LIMIT, REMEMBERED_MS = 100, 30000

local worker, instance = ARGV[2], ARGV[3]
local request_key = P .. 'request:' .. worker .. ':' .. ARGV[4]
local at = 8
local settled, once, claims, next_due = '', false, {}, -1

-- What a sending before this one leased and nobody has taken since. Looks at all leases of the queues: the reply that
-- got lost is rare, and remembering the ids of every cycle is not free.
local function leased_before(batch, names)
  for _, name in ipairs(names) do
    local members = call('ZRANGE', of(name, 'l'), 0, -1)
    local found, first = {}, nil
    for from = 1, #members, 1000 do
      local tokens = call('HMGET', M, unpack(members, from, min(from + 999, #members)))
      for i, token in ipairs(tokens) do
        if token and byte(token) ~= 70 and sub(token, 2, 13) == batch then
          found[#found + 1] = { sub(token, 14, 16), members[from + i - 1] }
        end
      end
    end
    table.sort(found, function(a, b) return a[1] < b[1] end)
    for _, entry in ipairs(found) do
      local id = entry[2]
      local record, news, token = call('HGET', T, id), call('HGET', X, id), call('HGET', M, id)
      -- The carry was taken in by the lease; from the lease it can be written again.
      local carry = sub(token, 2, 16) .. sub(token, 33, 48) .. format('%06d', sub(token, 49, 54) - 1)
        .. sub(token, 55, 57) .. NO_TIME .. sub(token, 63, 63)
      local body = byte(record, 33) == 76 and call('HGET', B, id) or ''
      local apart = { { 1, carry, news or '', body } }
      claims[#claims + 1] = { name, batch, tonumber(entry[1]), { id }, { record }, apart, {} }
    end
  end
end

local settlements = tonumber(ARGV[7])
local stale_at = at + 4 * settlements
local claim_at = stale_at + 1 + ARGV[stale_at]
local limit, names, limits = 0, {}, {}
if ARGV[claim_at] then
  limit = tonumber(ARGV[claim_at])
  for i = claim_at + 2, #ARGV, 2 do
    push(names, ARGV[i])
    push(limits, tonumber(ARGV[i + 1]))
  end
end

local remembered
if ARGV[6] == 'again' then
  local last = call('GET', request_key)
  if last and sub(last, 1, 26) == ARGV[5] then
    remembered = last
  end
end

for i = stale_at + 1, claim_at - 1 do
  call('ZREM', of(ARGV[i], 'w'), worker .. '@' .. instance)
end

if remembered then
  settled = sub(remembered, 39)
  leased_before(sub(remembered, 27, 38), names)
else
  if settlements > 0 then
    settled, once = settle(settlements, at)
    write_moves(true)
  end
  local batch
  if limit > 0 and #names > 0 then
    local due, expired = overdue(names, 's', TEND_LIMIT), overdue(names, 'l', TEND_LIMIT)
    if #due > 0 or #expired > 0 then
      promote(due)
      reclaim(expired)
      write_moves(true)
    end
    local paused, taken = call('SMISMEMBER', P .. 'paused', unpack(names)), 0
    local deadline = format('%.0f', now + ARGV[claim_at + 1])
    for i, name in ipairs(names) do
      local wanted = min(limits[i], limit - taken)
      if paused[i] == 0 and wanted > 0 and call('EXISTS', of(name, 'r')) == 1 then
        batch = batch or next_batch()
        local claimed = claim(name, wanted, worker, deadline, batch, taken)
        if claimed then
          claims[#claims + 1] = claimed
          taken = taken + #claimed[4]
          -- Full, and there is more: another worker may have been asleep since before.
          if #claimed[4] == wanted and call('EXISTS', of(name, 'w')) == 1 and call('EXISTS', of(name, 'r')) == 1 then
            wake(name, 1)
          end
        end
      end
    end
    if taken == 0 then
      for _, name in ipairs(names) do
        call('ZADD', of(name, 'w'), NOW, worker .. '@' .. instance)
        local first = call('ZRANGE', of(name, 's'), 0, 0, 'WITHSCORES')[2]
        if first and (next_due < 0 or first - now < next_due) then
          next_due = math.max(first - now, 0)
        end
      end
    end
  end
  if once or batch then
    call('SET', request_key, ARGV[5] .. (batch or '000000000000') .. settled, 'PX', REMEMBERED_MS)
  end
end

return { settled, claims, call('SMEMBERS', P .. 'cancel:' .. worker), call('HGET', P .. 'config', 'version') or '0',
  format('%.0f', next_due), NOW }
