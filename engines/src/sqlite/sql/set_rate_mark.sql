-- set_rate_mark: notes that tasks of a queue with a rate have started.
-- ?1 queue  ?2 mark
UPDATE queue SET rate_mark = ?2 WHERE key = ?1
