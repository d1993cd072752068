-- next_gated: the tasks of a queue that are claimed next, in order, as far as their gates are asked.
-- ?1 queue  ?2 limit  ?3 how many to pass over
-- Returns key, name, key of concurrency, version, overrides, ready_at and started_at.
SELECT key, name, concurrency_key, version, overrides, ready_at, started_at FROM task
WHERE status = 2 AND gate IS NULL AND queue = ?1
ORDER BY rank, position LIMIT ?2 OFFSET ?3
