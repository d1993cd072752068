-- delete_unique_keys: deletes the unique keys of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM unique_key WHERE task IN (SELECT value FROM json_each(?1))
