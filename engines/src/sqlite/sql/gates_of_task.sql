-- gates_of_task: what the gates of a task are told by.
-- ?1 key
SELECT name, concurrency_key, version FROM task WHERE key = ?1
