-- note_due: a chore has something to do in a queue from a time on; unless it is known to have earlier.
-- ?1 chore  ?2 queue  ?3 time
INSERT INTO due (chore, queue, at) VALUES (?1, ?2, ?3)
ON CONFLICT (chore, queue) DO UPDATE SET at = excluded.at WHERE excluded.at < due.at
