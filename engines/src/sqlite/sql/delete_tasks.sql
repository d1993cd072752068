-- delete_tasks: removes tasks. What is stored beside them is other statements'.
-- ?1 keys, a JSON array
DELETE FROM task WHERE key IN (SELECT value FROM json_each(?1))
