-- intake_mark: the mark of the rate at which a queue accepts tasks.
-- ?1 queue
SELECT intake_mark FROM queue WHERE key = ?1
