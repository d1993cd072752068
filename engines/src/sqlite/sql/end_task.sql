-- end_task: a task is over. A completed one lets its parameters go.
-- ?1 key  ?2 status  ?3 revision  ?4 now  ?5 the fence that settled it, or NULL  ?6 dead_letter
-- ?7 the attempt's span; NULL keeps that of an earlier one  ?8 result_type  ?9 result
UPDATE task
SET status = ?2, revision = ?3, completed_at = ?4, fence = ?5, dead_letter = ?6, lease_expires_at = NULL,
    cancel_requested = 0, suspicion = 0, last_span = coalesce(?7, last_span), result_type = ?8, result = ?9,
    parameters = CASE ?2 WHEN 4 THEN NULL ELSE parameters END
WHERE key = ?1
