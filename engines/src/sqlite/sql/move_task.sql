-- move_task: a task that waits for its turn is in another queue, at the place it had among those of its priority. Whether
-- a gate of that queue holds it back, its next claim will tell.
-- ?1 key  ?2 queue  ?3 revision
UPDATE task SET queue = ?2, revision = ?3, gate = iif(suspicion > 0, '!', NULL) WHERE key = ?1
