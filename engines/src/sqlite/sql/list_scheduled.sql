-- list_scheduled: the scheduled tasks of a queue after a place, next due first.
-- ?1 queue  ?2, ?3, ?4 the place: ready_at, one that does not matter, id  ?5 limit
-- Returns the key and the place.
SELECT key, ready_at, 0, id FROM task
WHERE status = 1 AND queue = ?1 AND (ready_at, id, ?3) > (?2, ?4, ?3)
ORDER BY ready_at, id LIMIT ?5
