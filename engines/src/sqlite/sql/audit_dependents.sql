-- audit_dependents: whose counts they are, and whether that task is there.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = dependent.task) FROM dependent
WHERE task > ?1
ORDER BY task
LIMIT ?2
