-- end_weighing: all tasks of a queue have been come to.
-- ?1 queue
UPDATE queue SET weighed = NULL, weigh_until = NULL WHERE key = ?1
