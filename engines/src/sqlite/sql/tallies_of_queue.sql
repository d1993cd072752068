-- tallies_of_queue: how many tasks of a queue stand where.
-- ?1 queue
SELECT queue, status, tasks FROM tally WHERE queue = ?1 AND tasks > 0
