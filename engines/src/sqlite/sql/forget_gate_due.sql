-- forget_gate_due: removes a due gate, because it stays shut until one of its tasks ends, or no task waits behind it.
-- ?1 queue  ?2 gate
DELETE FROM gate_due WHERE queue = ?1 AND gate = ?2
