-- update_tally: adds to the number of tasks of a queue with a status. Changes no row when there is none yet.
-- ?1 queue  ?2 status  ?3 how many more, may be negative
UPDATE tally SET tasks = tasks + ?3 WHERE queue = ?1 AND status = ?2
