-- find_waiting: what must be known of a waiting task before it ends.
-- ?1 key
-- Returns id, queue, and whether its parameters are in a side table.
SELECT id, queue, parameters IS NULL FROM task WHERE key = ?1 AND status = 0
