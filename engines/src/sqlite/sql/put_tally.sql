-- put_tally: how many tasks of a queue stand at a status, counted anew.
-- ?1 queue, ?2 status, ?3 tasks
INSERT INTO tally VALUES (?1, ?2, ?3) ON CONFLICT (queue, status) DO UPDATE SET tasks = excluded.tasks
