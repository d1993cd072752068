-- delete_dependents: deletes the dependency counts of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM dependent WHERE task IN (SELECT value FROM json_each(?1))
