-- linked_tasks: those of some tasks that are not over and have dependencies, or others depend on them.
-- ?1 keys of tasks, a JSON array
SELECT key, id FROM task WHERE key IN (SELECT value FROM json_each(?1)) AND linked = 1 AND status < 4 ORDER BY id
