-- promote_task: a scheduled task joins the end of its queue. One that was given back with a delay by workers that do not know
-- it is ready since it was before.
-- ?1 key  ?2 revision and position
UPDATE task
SET status = 2, revision = ?2, position = ?2,
    ready_at = coalesce((SELECT stranger.ready_at FROM stranger WHERE stranger.task = ?1), ready_at)
WHERE key = ?1 AND status = 1
