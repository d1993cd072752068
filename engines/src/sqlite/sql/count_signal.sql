-- count_signal: one more dependency of a task is signalled.
-- ?1 key
-- Returns how many are not.
UPDATE dependent SET signals = signals + 1 WHERE task = ?1 RETURNING total - signals
