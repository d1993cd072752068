-- tallies: how many tasks stand where, of all queues or of one.
-- ?1 queue, or NULL for all
SELECT queue, status, tasks FROM tally WHERE tasks > 0 AND (?1 IS NULL OR queue = ?1)
