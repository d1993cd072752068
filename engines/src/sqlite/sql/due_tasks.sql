-- due_tasks: the scheduled tasks of a queue whose time has come, the longest due first.
-- ?1 queue  ?2 now  ?3 limit  ?4 how many to skip
SELECT ready_at, id, key FROM task WHERE status = 1 AND queue = ?1 AND ready_at <= ?2 ORDER BY ready_at, id LIMIT ?3 OFFSET ?4
