-- count_signals: more dependencies of a task are signalled.
-- ?1 key  ?2 how many
UPDATE dependent SET signals = signals + ?2 WHERE task = ?1
