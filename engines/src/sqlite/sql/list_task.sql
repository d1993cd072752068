-- list_task: a task as lists show it: without parameters, checkpoint, result and failed attempts.
-- ?1 key
SELECT key, id, id_is_chosen, name, version, queue, rank, status, revision, overrides, attempt, crashes, blames, suspicion, submitted_at, ready_at,
       started_at, heartbeat_at, completed_at, worker, fence, lease_expires_at, cancel_requested, progress,
       progress_message, dead_letter, trace, last_span,
       NULL, NULL,
       NULL, NULL,
       NULL, NULL,
       (SELECT said FROM uniqueness WHERE task = key), concurrency_key, labels,
       CASE linked WHEN 1 THEN (SELECT total FROM dependent WHERE task = key) END,
       CASE linked WHEN 1 THEN (SELECT signals FROM dependent WHERE task = key) END,
       CASE WHEN linked = 1 AND status = 7 THEN (SELECT aborted_by FROM dependent WHERE task = key) END,
       CASE WHEN linked = 1 AND status = 7 THEN (SELECT aborted_end FROM dependent WHERE task = key) END
FROM task
WHERE key = ?1
