-- count_bytes: adds to the bytes that wait in a queue.
-- ?1 queue  ?2 how many more, may be negative
UPDATE queue SET waiting_bytes = waiting_bytes + ?2 WHERE key = ?1
