-- find_queue: the key of a queue.
-- ?1 name
SELECT key FROM queue WHERE name = ?1
