-- operations: operations, the latest first.
-- ?1 continue before this id  ?2 whether they are finished, or NULL for both  ?3 whether they were cancelled, or NULL for
-- both  ?4 limit
SELECT id, request, created_at, finished_at, cancelled_at
FROM operation
WHERE id < ?1
  AND (?2 IS NULL OR (finished_at IS NOT NULL) = ?2)
  AND (?3 IS NULL OR (cancelled_at IS NOT NULL) = ?3)
ORDER BY id DESC
LIMIT ?4
