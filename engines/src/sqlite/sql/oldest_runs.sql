-- oldest_runs: of all queues and ways to end, those that hold the oldest finished tasks, the oldest first.
-- ?1 statuses, bit n for the status n  ?2 revision to stay above  ?3 limit
SELECT queue, status
FROM (SELECT queue, status, (SELECT revision FROM task
                             WHERE task.status >= 4 AND task.queue = tally.queue AND task.status = tally.status
                               AND task.revision > ?2
                             ORDER BY revision LIMIT 1) AS head
      FROM tally WHERE status >= 4 AND tasks > 0 AND (?1 >> status) & 1)
WHERE head IS NOT NULL
ORDER BY head LIMIT ?3
