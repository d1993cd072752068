-- task_bytes: how many bytes the parameters and the result of a task take.
-- ?1 key
SELECT coalesce(length(parameters), 0) + coalesce(length(result), 0)
     + coalesce((SELECT length(bytes) FROM large_parameters WHERE task = key), 0)
FROM task
WHERE key = ?1
