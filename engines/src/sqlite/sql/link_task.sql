-- link_task: notes that a task has dependencies, or that others depend on it.
-- ?1 key
UPDATE task SET linked = 1 WHERE key = ?1 AND linked = 0
