-- delete_silent_workers: forgets the workers that were not heard of within their time.
-- ?1 now
DELETE FROM worker WHERE expires_at <= ?1
