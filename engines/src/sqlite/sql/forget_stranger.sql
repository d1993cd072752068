-- forget_stranger: of tasks that a worker knows, or that are gone.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM stranger WHERE task IN (SELECT value FROM json_each(?1))
