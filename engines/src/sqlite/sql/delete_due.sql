-- delete_due: deletes the noted work of all chores in a queue that is deleted.
-- ?1 queue
DELETE FROM due WHERE chore IN (0, 1, 2) AND queue = ?1
