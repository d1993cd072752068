-- count_finished: how many finished tasks a queue holds.
-- ?1 queue
SELECT coalesce(sum(tasks), 0) FROM tally WHERE queue = ?1 AND status >= 4
