-- cancel_requests: the tasks a worker holds and somebody wants cancelled.
-- ?1 worker
SELECT id FROM task WHERE cancel_requested = 1 AND worker = ?1 ORDER BY id
