-- delete_weight: deletes the byte counts of tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM weight WHERE task IN (SELECT value FROM json_each(?1))
