-- complete_task: an attempt succeeded.
-- ?1 key  ?2 revision  ?3 now  ?4 result_type  ?5 result
UPDATE task
SET status = 4, revision = ?2, completed_at = ?3, lease_expires_at = NULL, result_type = ?4, result = ?5
WHERE key = ?1
