-- successors: the tasks that wait for one, in the order they were taken in.
-- ?1 key of the predecessor  ?2 only edges from before this revision  ?3 limit
SELECT since, successor, policy FROM dependency
WHERE predecessor = ?1 AND since < ?2
ORDER BY since, successor
LIMIT ?3
