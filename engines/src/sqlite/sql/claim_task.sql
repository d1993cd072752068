-- claim_task: leases a submitted task to a worker. The revision is its fence.
-- ?1 key  ?2 revision  ?3 now  ?4 worker  ?5 lease_expires_at
UPDATE task
SET status = 3, revision = ?2, fence = ?2, attempt = attempt + 1, started_at = ?3, worker = ?4, lease_expires_at = ?5
WHERE key = ?1 AND status = 2
