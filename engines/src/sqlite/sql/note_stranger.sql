-- note_stranger: a worker gave a task back for not knowing it. The first time also notes since when the task was ready.
-- ?1 task's key  ?2 now
-- Returns since when that is so.
INSERT INTO stranger (task, since, ready_at) SELECT key, ?2, ready_at FROM task WHERE key = ?1
ON CONFLICT (task) DO UPDATE SET since = since
RETURNING since
