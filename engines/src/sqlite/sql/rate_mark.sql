-- rate_mark: the rate mark of a queue.
-- ?1 queue
SELECT rate_mark FROM queue WHERE key = ?1
