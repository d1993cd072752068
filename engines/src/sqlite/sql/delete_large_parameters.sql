-- delete_large_parameters: deletes the large parameters of tasks that completed or are removed.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM large_parameters WHERE task IN (SELECT value FROM json_each(?1))
