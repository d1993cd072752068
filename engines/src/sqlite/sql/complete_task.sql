-- complete_task: settles an attempt that succeeded and that nobody wants cancelled. The way nearly every task takes.
-- ?1 id  ?2 fence  ?3 revision  ?4 now  ?5 result_type  ?6 result
-- Answers the key, the queue and whether its parameters lie beside it; nothing when the fence does not agree.
UPDATE task
SET status = 4, revision = ?3, completed_at = ?4, lease_expires_at = NULL, result_type = ?5, result = ?6
WHERE id = ?1 AND fence = ?2 AND status = 3 AND cancel_requested = 0
RETURNING key, queue, parameters IS NULL
