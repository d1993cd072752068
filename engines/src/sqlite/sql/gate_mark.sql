-- gate_mark: the rate mark of a gate.
-- ?1 queue  ?2 gate
SELECT mark FROM gate_mark WHERE queue = ?1 AND gate = ?2
