-- is_awaited: whether a task waits behind a gate.
-- ?1 queue  ?2 gate
SELECT EXISTS (SELECT 1 FROM task WHERE status = 2 AND gate = ?2 AND queue = ?1)
