-- release_parents: tasks that are over or removed hold their predecessors no longer.
-- ?1 keys of tasks, a JSON array; or one key
UPDATE parent SET holds = 0 WHERE successor IN (SELECT value FROM json_each(?1)) AND holds = 1
