-- delete_task: removes a task with all that lies beside it.
-- ?1 key
DELETE FROM task WHERE key = ?1
