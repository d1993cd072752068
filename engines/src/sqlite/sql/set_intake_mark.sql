-- set_intake_mark: notes that a queue with a rate of submissions has taken tasks in.
-- ?1 queue  ?2 mark
UPDATE queue SET intake_mark = ?2 WHERE key = ?1
