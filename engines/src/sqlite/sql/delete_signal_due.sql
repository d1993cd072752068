-- delete_signal_due: the end of a task is taken up.
-- ?1 number
DELETE FROM signal_due WHERE number = ?1
