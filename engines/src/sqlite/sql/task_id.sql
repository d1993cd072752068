-- task_id: the id of a task.
-- ?1 key
SELECT id FROM task WHERE key = ?1
