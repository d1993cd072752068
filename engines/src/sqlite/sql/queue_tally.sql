-- queue_tally: how many tasks of a queue have one status.
-- ?1 queue  ?2 status
SELECT tasks FROM tally WHERE queue = ?1 AND status = ?2
