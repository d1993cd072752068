-- let_pass: the next tasks behind a gate come back to their places in the queue, or among its suspects.
-- ?1 queue  ?2 gate  ?3 limit
UPDATE task SET gate = iif(suspicion > 0, '!', NULL)
WHERE key IN (SELECT key FROM task WHERE status = 2 AND gate = ?2 AND queue = ?1 ORDER BY rank, position LIMIT ?3)
