-- forget_weights: nothing of a queue is counted any more.
-- ?1 queue
DELETE FROM weight WHERE queue = ?1
