-- delete_queue: removes a queue without tasks, and its counts.
-- ?1 key
DELETE FROM queue WHERE key = ?1
