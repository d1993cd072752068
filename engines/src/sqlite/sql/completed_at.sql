-- completed_at: when a task was over.
-- ?1 key
SELECT completed_at FROM task WHERE key = ?1
