-- list_waiting: the waiting tasks of a queue after a place, in the order they came.
-- ?1 queue  ?2, ?3, ?4 the place: position, and two that do not matter  ?5 limit
-- Returns the key and the place.
SELECT key, position, 0, '' FROM task
WHERE status = 0 AND queue = ?1 AND (position, ?3, ?4) > (?2, ?3, ?4)
ORDER BY position LIMIT ?5
