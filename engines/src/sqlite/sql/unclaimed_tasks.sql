-- unclaimed_tasks: the tasks of a queue that wait for their turn at one of three statuses.
-- ?1 queue  ?2 limit
SELECT key, status, id FROM (
    SELECT key, status, id FROM task WHERE status = 2 AND gate IS NULL AND queue = ?1
    UNION ALL SELECT key, status, id FROM task WHERE status = 1 AND queue = ?1
    UNION ALL SELECT key, status, id FROM task WHERE status = 0 AND queue = ?1
    UNION ALL SELECT key, status, id FROM task WHERE status = 2 AND gate IS NOT NULL AND queue = ?1)
LIMIT ?2
