-- resubmit_task: a task that is over is in a queue again. It no longer expires.
-- ?1 key  ?2 queue  ?3 revision and position  ?4 now  ?5 whether attempts, crashes and time are counted from the start
UPDATE task
SET queue = ?2, status = 2, revision = ?3, position = ?3, ready_at = ?4, completed_at = NULL, fence = NULL,
    dead_letter = 0, heartbeat_at = NULL, progress = NULL, progress_message = NULL, result_type = NULL, result = NULL,
    attempt = iif(?5, 0, attempt), crashes = iif(?5, 0, crashes), blames = iif(?5, 0, blames),
    submitted_at = iif(?5, ?4, submitted_at), gate = NULL, overrides = json_remove(overrides, '$.expires_in')
WHERE key = ?1
