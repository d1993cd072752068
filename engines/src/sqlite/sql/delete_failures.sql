-- delete_failures: deletes the failures of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM failure WHERE task IN (SELECT value FROM json_each(?1))
