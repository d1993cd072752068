-- gates_of_task: the fields that decide which gates a task has.
-- ?1 key
SELECT name, concurrency_key, version FROM task WHERE key = ?1
