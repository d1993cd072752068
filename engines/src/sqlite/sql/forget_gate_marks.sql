-- forget_gate_marks: takes the marks away that have passed: they say no more than none would.
-- ?1 queue  ?2 now
DELETE FROM gate_mark WHERE queue = ?1 AND mark <= ?2
