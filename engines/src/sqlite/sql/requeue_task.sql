-- requeue_task: a started task goes back to its queue, at once or later.
-- ?1 key  ?2 status  ?3 revision  ?4 ready_at; NULL keeps it and the task's place  ?5 attempts that do not count
-- ?6 the attempt's span; NULL keeps that of an earlier one  ?7 whether it ran, and is no longer suspect
UPDATE task
SET status = ?2, revision = ?3, position = iif(?4 IS NULL, position, ?3), ready_at = coalesce(?4, ready_at),
    attempt = attempt - ?5, fence = NULL, lease_expires_at = NULL, heartbeat_at = NULL, progress = NULL,
    progress_message = NULL, last_span = coalesce(?6, last_span),
    suspicion = iif(?7, 0, suspicion), gate = iif(?7, NULL, gate)
WHERE key = ?1
