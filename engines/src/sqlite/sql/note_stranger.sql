-- note_stranger: a worker gave a task back for not knowing it.
-- ?1 task's key  ?2 now
-- Answers since when that is so.
INSERT INTO stranger (task, since) VALUES (?1, ?2)
ON CONFLICT (task) DO UPDATE SET since = since
RETURNING since
