-- put_tally: the recounted number of tasks of a queue with a status.
-- ?1 queue, ?2 status, ?3 tasks
INSERT INTO tally VALUES (?1, ?2, ?3) ON CONFLICT (queue, status) DO UPDATE SET tasks = excluded.tasks
