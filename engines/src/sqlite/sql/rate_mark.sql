-- rate_mark: where the rate of a queue stands.
-- ?1 queue
SELECT rate_mark FROM queue WHERE key = ?1
