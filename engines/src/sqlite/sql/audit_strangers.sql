-- audit_strangers: the tasks that were given back as unknown, and whether each exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = stranger.task) FROM stranger
WHERE task > ?1
ORDER BY task
LIMIT ?2
