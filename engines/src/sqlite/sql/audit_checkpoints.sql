-- audit_checkpoints: the tasks of checkpoints, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = checkpoint.task) FROM checkpoint
WHERE task > ?1
ORDER BY task
LIMIT ?2
