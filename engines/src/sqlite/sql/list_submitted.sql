-- list_submitted: the submitted tasks of a queue after a place, in the order of claiming, those behind a gate among them.
-- ?1 queue  ?2, ?3, ?4 the place: rank, position, and one that does not matter  ?5 limit
-- Returns the key and the place.
SELECT key, rank, position, '' FROM task
WHERE status = 2 AND gate IS NULL AND queue = ?1 AND (rank, position, ?4) > (?2, ?3, ?4)
UNION ALL
SELECT key, rank, position, '' FROM task
WHERE status = 2 AND gate IS NOT NULL AND queue = ?1 AND (rank, position, ?4) > (?2, ?3, ?4)
ORDER BY rank, position LIMIT ?5
