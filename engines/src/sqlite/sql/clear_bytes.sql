-- clear_bytes: stops counting bytes in a queue.
-- ?1 queue
UPDATE queue SET waiting_bytes = 0, weighed = NULL, weigh_until = NULL WHERE key = ?1
