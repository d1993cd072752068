-- is_any_ready: whether a queue has submitted tasks that are not set aside.
-- ?1 queue
SELECT EXISTS (SELECT 1 FROM task WHERE status = 2 AND gate IS NULL AND queue = ?1)
