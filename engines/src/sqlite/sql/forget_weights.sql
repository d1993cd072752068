-- forget_weights: deletes the byte counts of a queue.
-- ?1 queue
DELETE FROM weight WHERE queue = ?1
