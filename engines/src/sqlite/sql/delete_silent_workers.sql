-- delete_silent_workers: deletes workers without a recent report.
-- ?1 now
DELETE FROM worker WHERE expires_at <= ?1
