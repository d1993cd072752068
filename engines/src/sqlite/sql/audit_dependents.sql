-- audit_dependents: the tasks of dependency counts, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task, EXISTS (SELECT 1 FROM task WHERE key = dependent.task) FROM dependent
WHERE task > ?1
ORDER BY task
LIMIT ?2
