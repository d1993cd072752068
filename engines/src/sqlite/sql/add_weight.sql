-- add_weight: counts what a waiting task weighs in its queue: the bytes of its parameters. Answers them, or no row when it
-- is counted already.
-- ?1 task  ?2 queue
INSERT INTO weight (task, queue, bytes)
SELECT key, ?2, coalesce(length(parameters), (SELECT length(bytes) FROM large_parameters WHERE task = key), 0)
FROM task WHERE key = ?1
ON CONFLICT (task) DO NOTHING
RETURNING bytes
