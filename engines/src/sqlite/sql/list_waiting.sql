-- list_waiting: the waiting tasks of a queue after a place, in the order they came.
-- ?1 queue  ?2 position to go on after  ?3 and ?4 unused  ?5 limit
SELECT key, position, 0, '' FROM task
WHERE status = 0 AND queue = ?1 AND position > ?2 AND ?3 IS NOT NULL AND ?4 IS NOT NULL
ORDER BY position LIMIT ?5
