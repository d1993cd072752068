-- promote_task: a scheduled task joins the end of its queue.
-- ?1 key  ?2 revision and position
UPDATE task SET status = 2, revision = ?2, position = ?2 WHERE key = ?1 AND status = 1
