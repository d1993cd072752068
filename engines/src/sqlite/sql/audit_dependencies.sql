-- audit_dependencies: the tasks of edges, and whether each task exists and waits.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT successor, EXISTS (SELECT 1 FROM task WHERE key = dependency.successor AND status = 0) FROM dependency
WHERE successor > ?1
GROUP BY successor
ORDER BY successor
LIMIT ?2
