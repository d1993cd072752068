-- find_waiting: what must be known of a waiting task before it moves on.
-- ?1 key
-- Answers id, queue, ready_at, and whether its parameters lie beside it.
SELECT id, queue, ready_at, parameters IS NULL FROM task WHERE key = ?1 AND status = 0
