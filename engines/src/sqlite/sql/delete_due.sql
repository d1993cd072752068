-- delete_due: no chore has anything to do in a queue that is deleted.
-- ?1 queue
DELETE FROM due WHERE chore IN (0, 1, 2) AND queue = ?1
