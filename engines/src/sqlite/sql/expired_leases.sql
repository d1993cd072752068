-- expired_leases: the tasks of a queue whose lease has ended, the longest ago first; ties by key, which needs no sorting.
-- ?1 queue  ?2 now  ?3 limit  ?4 how many to skip
SELECT lease_expires_at, key, id, worker, started_at, blames, suspicion, overrides
FROM task
WHERE status = 3 AND queue = ?1 AND lease_expires_at <= ?2
ORDER BY lease_expires_at, key
LIMIT ?3 OFFSET ?4
