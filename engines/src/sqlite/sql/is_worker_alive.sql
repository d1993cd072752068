-- is_worker_alive: whether a worker has a recent report.
-- ?1 id  ?2 now
SELECT EXISTS (SELECT 1 FROM worker WHERE id = ?1 AND expires_at > ?2)
