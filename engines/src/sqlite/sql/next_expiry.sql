-- next_expiry: when the next lease of a queue expires.
-- ?1 queue
SELECT lease_expires_at FROM task WHERE status = 3 AND queue = ?1 ORDER BY lease_expires_at LIMIT 1
