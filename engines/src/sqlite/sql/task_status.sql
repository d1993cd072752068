-- task_status: where a task stands: one that is stored, or pruned and remembered.
-- ?1 id  ?2 now
SELECT status FROM task WHERE id = ?1
UNION ALL
SELECT status FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
LIMIT 1
