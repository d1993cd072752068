-- delete_tallies: deletes the counts of a queue that is deleted.
-- ?1 queue
DELETE FROM tally WHERE queue = ?1
