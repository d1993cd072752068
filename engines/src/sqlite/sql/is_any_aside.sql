-- is_any_aside: whether a queue has tasks that are set aside.
-- ?1 queue
SELECT EXISTS (SELECT 1 FROM task WHERE status = 2 AND gate IS NOT NULL AND queue = ?1)
