-- queue_removed: how many tasks were ever deleted from a queue.
-- ?1 key
SELECT removed FROM queue WHERE key = ?1
