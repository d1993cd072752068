-- held_parents: the predecessors that a task still holds, although it is over.
-- ?1 key
-- Returns the first and the last of their places, and whether the store keeps how any deleted task ended.
SELECT place, (SELECT max(place) FROM parent WHERE successor = ?1 AND holds = 1), EXISTS (SELECT 1 FROM held_result)
FROM parent
WHERE successor = ?1 AND holds = 1 AND (SELECT status FROM task WHERE key = ?1) > 3
ORDER BY place
LIMIT 1
