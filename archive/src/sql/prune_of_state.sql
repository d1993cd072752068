-- prune_of_state: deletes letters in a state, the oldest first.
-- ?1 state  ?2 limit
DELETE FROM letter WHERE key IN (SELECT key FROM letter WHERE state = ?1 ORDER BY key LIMIT ?2)
