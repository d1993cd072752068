-- delete_parents: deletes the lists of predecessors of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM parent WHERE successor IN (SELECT value FROM json_each(?1))
