-- drop_signals: a task has ended: the signals that it still waited for are not needed.
-- ?1 task  ?2 now
UPDATE external_signal SET state = 3, at = ?2 WHERE task = ?1 AND state = 0
