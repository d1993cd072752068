-- next_due: when the next scheduled task of a queue is due.
-- ?1 queue
SELECT ready_at FROM task WHERE status = 1 AND queue = ?1 ORDER BY ready_at, id LIMIT 1
