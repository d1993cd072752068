-- end_weighing: ends counting: all tasks of a queue are counted.
-- ?1 queue
UPDATE queue SET weighed = NULL, weigh_until = NULL WHERE key = ?1
