-- waiting_bytes: the bytes that wait in a queue, as counted.
-- ?1 queue
SELECT waiting_bytes FROM queue WHERE key = ?1

-- count_bytes: adds to the bytes that wait in a queue.
-- ?1 queue  ?2 how many more, may be negative
UPDATE queue SET waiting_bytes = waiting_bytes + ?2 WHERE key = ?1

-- clear_bytes: stops counting bytes in a queue.
-- ?1 queue
UPDATE queue SET waiting_bytes = 0, weighed = NULL, weigh_until = NULL WHERE key = ?1

-- task_bytes: how many bytes the parameters and the result of a task take.
-- ?1 key
SELECT coalesce(length(parameters), 0) + coalesce(length(result), 0)
     + coalesce((SELECT length(bytes) FROM large_parameters WHERE task = key), 0)
FROM task
WHERE key = ?1

-- add_weight: adds a waiting task to the bytes counted in its queue: the bytes of its parameters. Returns them, or no row if the
-- task is counted already.
-- ?1 task  ?2 queue
INSERT INTO weight (task, queue, bytes)
SELECT key, ?2, coalesce(length(parameters), (SELECT length(bytes) FROM large_parameters WHERE task = key), 0)
FROM task WHERE key = ?1
ON CONFLICT (task) DO NOTHING
RETURNING bytes

-- take_weight: stops counting the bytes of a task. Returns them, or no row if it was not counted.
-- ?1 task
DELETE FROM weight WHERE task = ?1 RETURNING bytes

-- delete_weight: deletes the byte counts of tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM weight WHERE task IN (SELECT value FROM json_each(?1))

-- forget_weights: deletes the byte counts of a queue.
-- ?1 queue
DELETE FROM weight WHERE queue = ?1

-- begin_weighing: starts counting the bytes of a queue: of the tasks that exist, one after the other, by their keys.
-- ?1 queue
UPDATE queue SET weighed = 0, weigh_until = (SELECT coalesce(max(key), 0) FROM task), waiting_bytes = 0 WHERE key = ?1

-- being_weighed: the key up to which the tasks of a queue have been counted, and the key up to which they must be.
-- ?1 queue
SELECT weighed, weigh_until FROM queue WHERE key = ?1 AND weighed IS NOT NULL

-- tasks_to_weigh: tasks by their keys, and whether each waits in the queue.
-- ?1 queue  ?2 after this key  ?3 up to this key  ?4 limit
SELECT key, queue = ?1 AND status < 3 AS is_waiting FROM task WHERE key > ?2 AND key <= ?3 ORDER BY key LIMIT ?4

-- note_weighed: notes the key up to which tasks are counted.
-- ?1 queue  ?2 key
UPDATE queue SET weighed = ?2 WHERE key = ?1

-- end_weighing: ends counting: all tasks of a queue are counted.
-- ?1 queue
UPDATE queue SET weighed = NULL, weigh_until = NULL WHERE key = ?1
