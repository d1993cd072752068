-- audit_parents: the tasks of lists of predecessors, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT successor, EXISTS (SELECT 1 FROM task WHERE key = parent.successor) FROM parent
WHERE successor > ?1
GROUP BY successor
ORDER BY successor
LIMIT ?2
