#!lua flags=no-writes
-- The workers that have reported lately.
--
-- KEYS[1] the shard's prefix. ARGV: 1 the current time.
-- Returns {the time, report, …}, as register writes them, with the times of later beats.

-- include base heartbeats

local workers = call('HGETALL', P .. 'workers')
local answer = { NOW }
for i = 1, #workers, 2 do
  local report = workers[i + 1]
  local written = sub(report, @report.expires_at)
  local ends = ends_at('worker:' .. workers[i], written)
  if ends > written then
    local seen_at = min(now, ends - (written - sub(report, @report.seen_at)))
    report = sub(report, @report.started_at) .. ends .. format('%016.0f', seen_at) .. sub(report, @report.rest.at)
  end
  if ends > NOW then
    answer[#answer + 1] = report
  end
end
return answer
