-- delete_tasks: deletes tasks. Other statements delete their side records.
-- ?1 keys, a JSON array
DELETE FROM task WHERE key IN (SELECT value FROM json_each(?1))
