-- end_gate_sweep: a queue's gates have been looked at anew.
-- ?1 queue
DELETE FROM gate_sweep WHERE queue = ?1
