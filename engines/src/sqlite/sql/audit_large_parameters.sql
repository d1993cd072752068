-- audit_large_parameters: the tasks of large parameters, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = large_parameters.task) FROM large_parameters
WHERE task > ?1
ORDER BY task
LIMIT ?2
