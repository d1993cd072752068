-- next_queue: the queue with the least key beyond this one.
-- ?1 key
SELECT key, name FROM queue WHERE key > ?1 ORDER BY key LIMIT 1
