-- is_gate_due: whether a gate may let tasks pass, now or from a time on.
-- ?1 queue  ?2 gate
SELECT 1 FROM gate_due WHERE queue = ?1 AND gate = ?2
