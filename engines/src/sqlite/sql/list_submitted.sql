-- list_submitted: the submitted tasks of a queue after a place, in the order of claiming.
-- ?1 queue  ?2 rank and ?3 position to go on after  ?4 unused  ?5 limit
SELECT key, rank, position, '' FROM task
WHERE status = 2 AND queue = ?1 AND (rank, position) > (?2, ?3) AND ?4 IS NOT NULL
ORDER BY rank, position LIMIT ?5
