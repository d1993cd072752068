-- list_scheduled: the scheduled tasks of a queue after a place, next due first.
-- ?1 queue  ?2 ready_at and ?4 id to go on after  ?3 unused  ?5 limit
SELECT key, ready_at, 0, id FROM task
WHERE status = 1 AND queue = ?1 AND (ready_at, id) > (?2, ?4) AND ?3 IS NOT NULL
ORDER BY ready_at, id LIMIT ?5
