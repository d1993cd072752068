-- delete_large_parameters: lets large parameters go, of tasks that completed or are gone.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM large_parameters WHERE task IN (SELECT value FROM json_each(?1))
