-- end_signal: ends a signal that a task waits for.
-- ?1 task  ?2 name  ?3 state  ?4 now
UPDATE external_signal SET state = ?3, at = ?4 WHERE task = ?1 AND name = ?2 AND state = 0
