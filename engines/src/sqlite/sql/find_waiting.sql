-- find_waiting: what must be known of a waiting task before it moves on.
-- ?1 key
-- Returns id, queue, ready_at, and whether its parameters are in a side table.
SELECT id, queue, ready_at, parameters IS NULL FROM task WHERE key = ?1 AND status = 0
