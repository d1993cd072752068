-- queue_name: the name of a queue.
-- ?1 key
SELECT name FROM queue WHERE key = ?1
