-- list_started: the started tasks of a queue after a place, oldest claim first.
-- ?1 queue  ?2, ?3, ?4 the place: fence, and two that do not matter  ?5 limit
-- Returns the key and the place.
SELECT key, fence, 0, '' FROM task
WHERE status = 3 AND queue = ?1 AND (fence, ?3, ?4) > (?2, ?3, ?4)
ORDER BY fence LIMIT ?5
