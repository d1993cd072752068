-- add_weight: adds a waiting task to the bytes counted in its queue: the bytes of its parameters. Returns them, or no row if the
-- task is counted already.
-- ?1 task  ?2 queue
INSERT INTO weight (task, queue, bytes)
SELECT key, ?2, coalesce(length(parameters), (SELECT length(bytes) FROM large_parameters WHERE task = key), 0)
FROM task WHERE key = ?1
ON CONFLICT (task) DO NOTHING
RETURNING bytes
