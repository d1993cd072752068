-- delete_signal_due: deletes an end that this step continues.
-- ?1 number
DELETE FROM signal_due WHERE number = ?1
