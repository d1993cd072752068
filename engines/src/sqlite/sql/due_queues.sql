-- due_queues: the queues that a chore has something to do in by a time, the longest due first.
-- ?1 chore  ?2 time  ?3 limit
SELECT queue FROM due WHERE chore = ?1 AND at <= ?2 ORDER BY at, queue LIMIT ?3
