-- audit_unique_keys: the tasks that took unique keys, and whether each exists.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT task, EXISTS (SELECT 1 FROM task WHERE task.key = unique_key.task) FROM unique_key
WHERE task > ?1
GROUP BY task
ORDER BY task
LIMIT ?2
