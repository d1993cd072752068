-- cancel_requests: the tasks of a worker with a cancel request.
-- ?1 worker
SELECT id FROM task WHERE cancel_requested = 1 AND worker = ?1 ORDER BY id
