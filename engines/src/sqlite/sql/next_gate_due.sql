-- next_gate_due: the gate that is due next, and when.
-- ?1 queue
SELECT gate, due FROM gate_due WHERE queue = ?1 ORDER BY due, gate LIMIT 1
