-- forget_gate_due: a gate lets nothing pass until one of its tasks ends, or nothing waits for it.
-- ?1 queue  ?2 gate
DELETE FROM gate_due WHERE queue = ?1 AND gate = ?2
