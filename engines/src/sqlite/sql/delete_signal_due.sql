-- delete_signal_due: deletes a noted end once its signals are sent.
-- ?1 number
DELETE FROM signal_due WHERE number = ?1
