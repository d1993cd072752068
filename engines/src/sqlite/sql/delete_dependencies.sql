-- delete_dependencies: tasks that are over, or gone, wait for none.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM dependency WHERE successor IN (SELECT value FROM json_each(?1))
