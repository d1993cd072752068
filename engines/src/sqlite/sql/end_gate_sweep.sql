-- end_gate_sweep: all gates of a queue have been checked again.
-- ?1 queue
DELETE FROM gate_sweep WHERE queue = ?1
