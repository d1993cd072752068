-- note_heartbeat: stores the heartbeat of a running task, perhaps with its progress.
-- ?1 key  ?2 now  ?3 progress, or NULL to leave it  ?4 progress_message
UPDATE task
SET heartbeat_at = ?2, progress = coalesce(?3, progress), progress_message = iif(?3 IS NULL, progress_message, ?4)
WHERE key = ?1
