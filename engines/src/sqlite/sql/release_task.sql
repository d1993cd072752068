-- release_task: a task that waited for others joins the end of its queue, or waits for its time.
-- ?1 key  ?2 revision and position  ?3 now
-- Returns queue, status and ready_at, or nothing when the task does not wait.
UPDATE task
SET status = CASE WHEN ready_at > ?3 THEN 1 ELSE 2 END, revision = ?2, position = ?2, ready_at = max(ready_at, ?3)
WHERE key = ?1 AND status = 0
RETURNING queue, status, ready_at
