-- all_workers: the workers with a recent report, in the order of their ids.
-- ?1 now
SELECT report, started_at, seen_at, expires_at FROM worker WHERE expires_at > ?1 ORDER BY id
