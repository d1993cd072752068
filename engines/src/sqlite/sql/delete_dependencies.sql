-- delete_dependencies: deletes the edges of tasks that are over or removed.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM dependency WHERE successor IN (SELECT value FROM json_each(?1))
