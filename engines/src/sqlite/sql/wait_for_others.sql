-- wait_for_others: a task that has not started waits for others. Whether a gate holds it back when it is released, its next
-- claim finds out.
-- ?1 key  ?2 revision and position
UPDATE task
SET status = 0, revision = ?2, position = ?2, linked = 1, gate = iif(suspicion > 0, '!', NULL)
WHERE key = ?1 AND status IN (1, 2)
