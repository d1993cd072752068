-- delete_unique_keys: of tasks that are gone.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM unique_key WHERE task IN (SELECT value FROM json_each(?1))
