-- find_parent: the status and the result of a task that is stored, held, or remembered.
-- ?1 id  ?2 now
SELECT status, result_type, result FROM task WHERE id = ?1
UNION ALL
SELECT status, result_type, result FROM held_result
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
UNION ALL
SELECT status, NULL, NULL FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
  AND NOT EXISTS (SELECT 1 FROM held_result WHERE held_result.id = ?1)
LIMIT 1
