-- list_started: the started tasks of a queue after a place, oldest claim first.
-- ?1 queue  ?2 fence to go on after  ?3 and ?4 unused  ?5 limit
SELECT key, fence, 0, '' FROM task
WHERE status = 3 AND queue = ?1 AND fence > ?2 AND ?3 IS NOT NULL AND ?4 IS NOT NULL
ORDER BY fence LIMIT ?5
