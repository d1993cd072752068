-- latest_runs: of all queues and ways to end, those that hold the latest finished tasks, the latest first.
-- ?1 statuses, bit n for the status n  ?2 revision to stay below  ?3 limit
SELECT queue, status
FROM (SELECT queue, status, (SELECT revision FROM task
                             WHERE task.status >= 4 AND task.queue = tally.queue AND task.status = tally.status
                               AND task.revision < ?2
                             ORDER BY revision DESC LIMIT 1) AS head
      FROM tally WHERE status >= 4 AND tasks > 0 AND (?1 >> status) & 1)
WHERE head IS NOT NULL
ORDER BY head DESC LIMIT ?3
