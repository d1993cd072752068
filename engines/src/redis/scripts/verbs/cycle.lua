#!lua flags=allow-oom
-- The worker's loop in one step: settles what finished, promotes due tasks, reclaims expired leases, claims what fits, and
-- registers the worker as waiting when the queues hold nothing more for it.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time, 2 worker, 3 instance, 4 the slot of this request, 5 the request's id,
-- 6 `again` when an earlier sending may have been carried out, 7 how many settlements, then these (see settle.lua); then of how
-- many batches tasks end, and these (see end_batches.lua);
-- then in how many queues the worker may be registered as waiting, and their names; then nothing, or: limit, lease in
-- microseconds, until when the answer is waited for or 0, how many kinds of tasks it refuses, then pairs of queue and the
-- gate of a kind (see unknown.lua); then pairs of queue and limit.
-- Returns {settled, claims of each queue (see claim.lua), ids with a cancel request, configuration's version,
-- microseconds to the next due task, or until a rate allows more, or -1, the present, 1 if there may be more to claim at
-- once and the worker is not registered as waiting, what was done with expired leases: nothing, or {how many tasks went
-- back, records of those that ended}, and records of tasks that had expired and were dropped}.

-- include time counter spread wake

local MAINTAIN_LIMIT, REMEMBERED_MS, FIRST_SETTLEMENT = 100, 30000, 8
-- After how many expired tasks a claim stops, and how many it drops at most.
local MAX_EXPIRED, MOST_EXPIRED = 250, 1000

local worker, sleeper = ARGV[2], ARGV[2] .. '@' .. ARGV[3]
local request_key, settlements = P .. 'request:' .. worker .. ':' .. ARGV[4], tonumber(ARGV[7])
local batches_at = FIRST_SETTLEMENT + 4 * settlements
local ended_batches, stale_at = tonumber(ARGV[batches_at]), batches_at + 1
for _ = 1, ended_batches do
  stale_at = stale_at + 4 + 3 * ARGV[stale_at + 3]
end
local claim_at = stale_at + 1 + ARGV[stale_at]
local limit, names, limits, is_late, refused = 0, {}, {}, false, {}
if ARGV[claim_at] then
  limit = tonumber(ARGV[claim_at])
  local awaited_until = tonumber(ARGV[claim_at + 2])
  is_late = awaited_until > 0 and now > awaited_until
  local queues_at = claim_at + 4 + 2 * ARGV[claim_at + 3]
  for i = claim_at + 4, queues_at - 1, 2 do
    refused[ARGV[i]] = refused[ARGV[i]] or {}
    refused[ARGV[i]][ARGV[i + 1]] = true
  end
  for i = queues_at, #ARGV, 2 do
    names[#names + 1] = ARGV[i]
    limits[#limits + 1] = tonumber(ARGV[i + 1])
  end
end

local settled, once, claims, next_due, more, reclaimed = '', false, {}, '-1', 0, false
-- The tasks that had expired: queue, id and record; and their last records.
local expired, dropped = {}, {}
-- The leases of this cycle; stored for a repetition.
local first_fence, last_fence, deadline = NO_NUMBER, NO_NUMBER, NO_TIME

local function answer()
  return { settled, claims, call('SMEMBERS', P .. 'cancel:' .. worker), call('HGET', P .. 'config', 'version') or '0',
    next_due, NOW, more, reclaimed, dropped }
end

local function stop_waiting_in(name)
  call('ZREM', of(name, 'w'), sleeper)
  if limited then
    call('ZREM', of(name, 'b'), sleeper)
  end
end

local function stop_waiting()
  for i = stale_at + 1, claim_at - 1 do
    stop_waiting_in(ARGV[i])
  end
end

if ARGV[6] == 'again' then
  local remembered = call('GET', request_key)
  if remembered and sub(remembered, @request.id) == ARGV[5] then
    -- include records replay
    settled = sub(remembered, @request.rest.at)
    claims = leased_before(remembered, names)
    more = claims[1] and 1 or 0
    return answer()
  end
end

local room_of, started_in, wait_for, rules_in, clear_front, passed_in, due_in, back_in, ask_in
local is_picky = next(refused) ~= nil
if limited or is_picky then
  -- include records scores limits aside lane gates
  if limited then
    room_of, started_in, wait_for, on_ended = room_in, note_started, rate_wait, note_ended
  end
  rules_in, clear_front, passed_in, due_in = rules_of, make_way, note_passed, gates_due
  back_in, ask_in, refused_in = let_back, ask_suspect, refused
end
if is_picky then
  -- Before anything wakes a worker: not this one for kinds it refuses.
  local kinds = {}
  for name, gates in pairs(refused) do
    for gate in pairs(gates) do
      kinds[#kinds + 1] = name .. '\0' .. gate .. '\0'
    end
  end
  has_picky = true
  call('HSET', P .. 'picky', worker, '\0' .. table.concat(kinds))
elseif has_picky and limit > 0 then
  call('HDEL', P .. 'picky', worker)
end

if settlements + ended_batches > 0 then
  -- include ends
  if settlements > 0 then
    -- include settle
    settled, once = settle(settlements, FIRST_SETTLEMENT)
  end
  if ended_batches > 0 then
    -- include records end_batches
    settled = settled .. end_batches(ended_batches, batches_at + 1)
  end
  write_moves(true)
end

if limit == 0 or #names == 0 then
  stop_waiting()
elseif is_late then
  -- No caller would learn of the leases. If instead the clock jumped forward, the answer shows it.
  stop_waiting()
  next_due = '0'
else
  -- By queue, lower bounds (see agenda.lua): most often neither is due.
  local soonest, late, ended = {}, {}, {}
  local dues = call('EXISTS', P .. 'due') == 1 and call('ZMSCORE', P .. 'due', unpack(names)) or {}
  local expiries = call('ZCOUNT', P .. 'expiring', '-inf', NOW) > 0 and call('ZMSCORE', P .. 'expiring', unpack(names)) or {}
  for i, name in ipairs(names) do
    soonest[i] = tonumber(dues[i] or math.huge)
    if soonest[i] <= now then
      late[#late + 1] = name
    end
    if expiries[i] and tonumber(expiries[i]) <= now then
      ended[#ended + 1] = name
    end
  end
  if #late + #ended > 0 then
    -- include records scores moves agenda maintain
    promote(overdue(late, 's', MAINTAIN_LIMIT))
    reclaimed = { reclaim(overdue(ended, 'l', MAINTAIN_LIMIT), MAINTAIN_LIMIT) }
    write_moves(true)
    note_first(late, 's')
    note_first(ended, 'l')
    dues = call('ZMSCORE', P .. 'due', unpack(names))
    for i = 1, #names do
      soonest[i] = tonumber(dues[i] or math.huge)
    end
  end

  -- By queue: 1 if it is paused.
  local paused = call('SMISMEMBER', P .. 'paused', unpack(names))
  -- Whether a queue has ready tasks, and whether one key holds them all (no ghosts, then).
  local ready, has_ready, in_one_key, taken = {}, {}, {}, 0
  -- When the first probation ends that holds suspects back.
  local joins_at = math.huge
  -- The sum tells which keys exist: 1, 2 and 4.
  local put_off, unknown = P .. 'g:due', P .. 'unknown'
  local kept = call('EXISTS', P .. 'suspects', unknown, unknown, put_off, put_off, put_off, put_off)
  local has_suspects, has_unknown = kept % 2 == 1, kept % 4 >= 2
  if kept >= 4 then
    -- include ends put_off
    signal_put_off()
    for i, due in ipairs(call('ZMSCORE', P .. 'due', unpack(names))) do
      soonest[i] = tonumber(due or math.huge)
    end
  end
  -- Whether a queue may have more than it gave: limits, suspicion and refusals hold tasks back, and a queue that gave
  -- as many as requested was not read to its end.
  local may_have_more = limited or is_picky or kept % 4 > 0
  for i, name in ipairs(names) do
    local parts = limits[i] > 0 and paused[i] == 0 and call('EXISTS', of(name, 'q'), of(name, 'r'), of(name, 'p'), of(name, 'x')) or 0
    if parts > 0 then
      local room = limited and room_of(name)
      has_ready[i], in_one_key[i] = true, parts == 1 and not has_unknown and not has_suspects
      if not room or room.left > 0 then
        ready[#ready + 1] = i
      end
    end
  end
  if #ready > 0 then
    -- include claim
    local suspects_of, return_in
    if has_unknown then
      -- include records aside unknown
      return_in = let_return
    end
    if has_suspects then
      -- include records held aside suspects
      suspects_of = take_suspects
    end
    deadline = format('%016d', now + ARGV[claim_at + 1])
    local function note_claimed(claimed)
      local _, fence, ids, _, _, lost = unpack(claimed)
      claims[#claims + 1] = claimed
      may_have_more = may_have_more or #lost > 0
      if #ids > 0 then
        first_fence = first_fence == NO_NUMBER and fence or first_fence
        last_fence = #ids == 1 and fence or format('%015d', fence + #ids - 1)
      end
      taken = taken + #ids
      return #ids
    end
    for _, i in ipairs(ready) do
      local name, wanted = names[i], #expired < MAX_EXPIRED and min(limits[i], limit - taken) or 0
      local room = limited and wanted > 0 and room_of(name)
      local left, before = room and min(wanted, room.left) or wanted, taken
      local is_gated = left > 0 and (room and rules_in(name) or refused[name])
      if has_unknown and left > 0 then
        return_in(name, refused[name], left)
      end
      if has_suspects and left > 0 then
        local may_claim = not is_gated or back_in(name, left)
        local suspects, next_joins_at
        if may_claim then
          suspects, next_joins_at = suspects_of(name, worker, left, is_gated and ask_in)
          joins_at = min(joins_at, next_joins_at)
        end
        if suspects then
          local count = #suspects
          note_claimed(claim(name, left, worker, deadline, is_gated, suspects))
          left = left - count
        end
      end
      while left > 0 do
        local before_drop = #expired
        local open = is_gated and clear_front(name, left, expired) or min(left, MOST_EXPIRED - before_drop)
        local claimed = open > 0 and claim(name, open, worker, deadline, is_gated, nil, in_one_key[i])
        if claimed then
          local leased = note_claimed(claimed)
          left = left - (is_gated and open or leased)
        end
        local has_dropped = #expired > before_drop
        if #expired >= MAX_EXPIRED or not has_dropped and not (claimed and is_gated) then
          break
        end
        if has_dropped and has_unknown and left > 0 then
          return_in(name, refused[name], left)
        end
      end
      if room then
        started_in(name, room, taken - before)
      end
      if is_gated then
        passed_in(name, taken - before)
      end
      local is_filled = taken > before and taken - before == wanted
      may_have_more = may_have_more or is_filled
      -- Full, and there is more: another worker may have been waiting since before.
      if is_filled and call('EXISTS', of(name, 'w')) == 1
        and call('EXISTS', of(name, 'q'), of(name, 'r')) > 0 then
        wake(name, 1)
      end
    end
    if expired[1] then
      -- include records scores moves expired
      dropped = drop_expired(expired, worker)
      write_moves(true)
      may_have_more = true
    end
  end

  if taken > 0 and may_have_more then
    more = 1
    stop_waiting()
  else
    local first = joins_at
    for i, name in ipairs(names) do
      -- The time that the worker waits for is exact.
      if soonest[i] < math.huge then
        soonest[i] = tonumber(call('ZRANGE', of(name, 's'), '0', '0', 'WITHSCORES')[2]) or math.huge
      end
    end
    for i = stale_at + 1, claim_at - 1 do
      if ARGV[i] ~= names[i - stale_at] then
        stop_waiting_in(ARGV[i])
      end
    end
    for i, name in ipairs(names) do
      local part, room = 'w', limited and room_of(name)
      if paused[i] == 1 then
        -- What comes in wakes no worker; the change that lets it go on wakes all.
        part = nil
      elseif room and room.free == 0 then
        part = 'b'
      elseif room and room.left == 0 and has_ready[i] then
        -- It returns by itself at that time; waking it for a further submission would be useless.
        part, soonest[i] = nil, min(soonest[i], now + wait_for(room, min(limits[i], limit, room.free)))
      end
      local is_gated = refused[name] or room and rules_in(name)
      if is_gated and has_ready[i] and (not room or room.left > 0) then
        soonest[i] = min(soonest[i], due_in(name))
      end
      if part ~= 'w' and (room or paused[i] == 1) then
        call('ZREM', of(name, 'w'), sleeper)
      end
      if room and part ~= 'b' then
        call('ZREM', of(name, 'b'), sleeper)
      end
      if part then
        -- It keeps its place: the worker that waits longest is woken first.
        call('ZADD', of(name, part), 'NX', NOW, sleeper)
      end
      -- A lane that holds all and gave less than was asked for is empty.
      if has_ready[i] and not room and (taken == 0 or not in_one_key[i]) and call('EXISTS', of(name, 'q')) == 1 then
        -- Ghosts cut the claim short: there is more at once.
        soonest[i] = now
      end
      first = min(first, soonest[i])
    end
    if expired[1] then
      first = now
    end
    if first < math.huge then
      next_due = format('%.0f', math.max(first - now, 0))
    end
  end
end

if once or first_fence ~= NO_NUMBER then
  call('SET', request_key, ARGV[5] .. first_fence .. last_fence .. deadline .. settled, 'PX', REMEMBERED_MS)
end
return answer()
