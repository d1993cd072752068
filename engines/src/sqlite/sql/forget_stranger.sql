-- forget_stranger: forgets when a task was first unknown, because a worker knows it or it is gone.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM stranger WHERE task IN (SELECT value FROM json_each(?1))
