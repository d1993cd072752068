-- begin_timeouts: begins the timeouts of a task's signals, if it waits for no other task.
-- ?1 task  ?2 now
UPDATE external_signal SET due = ?2 + timeout
WHERE task = ?1 AND state = 0 AND due IS NULL AND timeout IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM dependency WHERE successor = ?1)
