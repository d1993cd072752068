-- delete_uniqueness: deletes the uniqueness constraints of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM uniqueness WHERE task IN (SELECT value FROM json_each(?1))
