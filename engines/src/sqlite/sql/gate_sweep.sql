-- gate_sweep: the gate after which a queue's gates are still to be looked at anew.
-- ?1 queue
SELECT after FROM gate_sweep WHERE queue = ?1
