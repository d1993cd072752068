-- waiting_bytes: the bytes that wait in a queue, as counted.
-- ?1 queue
SELECT waiting_bytes FROM queue WHERE key = ?1
