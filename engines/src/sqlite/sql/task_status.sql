-- task_status: the status of a task that is stored, or was pruned and is remembered.
-- ?1 id  ?2 now
SELECT status FROM task WHERE id = ?1
UNION ALL
SELECT status FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
LIMIT 1
