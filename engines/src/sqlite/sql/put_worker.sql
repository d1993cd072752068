-- put_worker: notes a worker's report. One that was forgotten, or is new, starts now.
-- ?1 id  ?2 report  ?3 now  ?4 expires_at
INSERT INTO worker (id, report, started_at, seen_at, expires_at) VALUES (?1, ?2, ?3, ?3, ?4)
ON CONFLICT (id) DO UPDATE SET report = excluded.report, seen_at = excluded.seen_at, expires_at = excluded.expires_at,
    started_at = iif(worker.expires_at > ?3, worker.started_at, ?3)
