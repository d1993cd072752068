-- audit_strangers: which tasks were given back as unknown, and whether they are there.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = stranger.task) FROM stranger
WHERE task > ?1
ORDER BY task
LIMIT ?2
