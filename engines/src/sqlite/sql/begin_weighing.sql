-- begin_weighing: starts counting the bytes of a queue: of the tasks that exist, one after the other, by their keys.
-- ?1 queue
UPDATE queue SET weighed = 0, weigh_until = (SELECT coalesce(max(key), 0) FROM task), waiting_bytes = 0 WHERE key = ?1
