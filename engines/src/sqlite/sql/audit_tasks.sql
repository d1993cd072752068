-- audit_tasks: a piece of all tasks, whether one has lost the parameters it still needs, and whether it waits for others.
-- ?1 the key after which to go on, ?2 at most how many
SELECT key, id, queue,
       parameters IS NULL AND status <> 4 AND NOT EXISTS (SELECT 1 FROM large_parameters WHERE task = key),
       status = 0
FROM task
WHERE key > ?1
ORDER BY key
LIMIT ?2
