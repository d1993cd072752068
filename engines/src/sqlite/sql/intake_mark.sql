-- intake_mark: where the rate stands at which a queue takes tasks in.
-- ?1 queue
SELECT intake_mark FROM queue WHERE key = ?1
