-- oldest_ready: when the task that has been ready longest became so: the earliest of the fronts of the ten priorities, of
-- the tasks that are claimed next and of those behind a gate together.
-- ?1 queue
SELECT min(ready_at)
FROM (SELECT (SELECT ready_at
              FROM (SELECT * FROM (SELECT ready_at, position FROM task
                                   WHERE status = 2 AND gate IS NULL AND queue = ?1 AND rank = ranks.column1
                                   ORDER BY position LIMIT 1)
                    UNION ALL
                    SELECT * FROM (SELECT ready_at, position FROM task
                                   WHERE status = 2 AND gate IS NOT NULL AND queue = ?1 AND rank = ranks.column1
                                   ORDER BY position LIMIT 1))
              ORDER BY position LIMIT 1) AS ready_at
      FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS ranks)
