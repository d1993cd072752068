-- gate_mark: where the rate of a gate stands.
-- ?1 queue  ?2 gate
SELECT mark FROM gate_mark WHERE queue = ?1 AND gate = ?2
