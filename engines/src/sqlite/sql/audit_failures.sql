-- audit_failures: the tasks of failures, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = failure.task) FROM failure
WHERE task > ?1
GROUP BY task
ORDER BY task
LIMIT ?2
