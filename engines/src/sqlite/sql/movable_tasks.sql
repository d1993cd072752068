-- movable_tasks: the tasks of a queue that wait for their turn, those that are next in line first.
-- ?1 queue  ?2 limit
SELECT key, status FROM (
    SELECT * FROM (
        SELECT key, status, rank, position FROM task WHERE status = 2 AND gate IS NULL AND queue = ?1
        UNION ALL SELECT key, status, rank, position FROM task WHERE status = 2 AND gate IS NOT NULL AND queue = ?1
        ORDER BY rank, position LIMIT ?2)
    UNION ALL SELECT * FROM (
        SELECT key, status, 0, 0 FROM task WHERE status = 1 AND queue = ?1 ORDER BY ready_at, id LIMIT ?2)
    UNION ALL SELECT * FROM (
        SELECT key, status, 0, 0 FROM task WHERE status = 0 AND queue = ?1 ORDER BY position LIMIT ?2))
LIMIT ?2
