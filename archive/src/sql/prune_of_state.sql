-- prune_of_state: deletes letters that are in a state, the oldest first.
-- ?1 state  ?2 at most how many
DELETE FROM letter WHERE key IN (SELECT key FROM letter WHERE state = ?1 ORDER BY key LIMIT ?2)
