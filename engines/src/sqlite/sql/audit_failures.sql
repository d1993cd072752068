-- audit_failures: whose they are, and whether that task is there.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = failure.task) FROM failure
WHERE task > ?1
GROUP BY task
ORDER BY task
LIMIT ?2
