-- tasks_to_weigh: tasks by their keys, and whether each waits in the queue.
-- ?1 queue  ?2 after this key  ?3 up to this key  ?4 limit
SELECT key, queue = ?1 AND status < 3 FROM task WHERE key > ?2 AND key <= ?3 ORDER BY key LIMIT ?4
