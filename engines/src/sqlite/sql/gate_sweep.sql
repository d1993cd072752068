-- gate_sweep: the gate after which a queue's gates must still be checked again.
-- ?1 queue
SELECT after FROM gate_sweep WHERE queue = ?1
