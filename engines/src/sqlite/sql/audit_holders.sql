-- audit_holders: the tasks of lists of predecessors, and whether each is not over, holds none, or is to let them go later.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT successor, max(holds) = 0 OR NOT EXISTS (SELECT 1 FROM task WHERE key = parent.successor AND status > 3)
                  OR EXISTS (SELECT 1 FROM signal_due WHERE predecessor = parent.successor)
FROM parent
WHERE successor > ?1
GROUP BY successor
ORDER BY successor
LIMIT ?2
