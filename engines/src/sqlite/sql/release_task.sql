-- release_task: a task that waited for others joins the end of its queue, or waits for its time.
-- ?1 key  ?2 status  ?3 revision and position  ?4 ready_at
UPDATE task SET status = ?2, revision = ?3, position = ?3, ready_at = ?4 WHERE key = ?1 AND status = 0
