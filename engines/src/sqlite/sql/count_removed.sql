-- count_removed: adds to the number of tasks ever deleted from a queue.
-- ?1 queue  ?2 how many more
UPDATE queue SET removed = removed + ?2 WHERE key = ?1
