-- forget_gate_marks: takes some of the marks away that have passed: they say no more than none would.
-- ?1 queue  ?2 now
DELETE FROM gate_mark
WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_mark WHERE queue = ?1 AND mark <= ?2 ORDER BY mark LIMIT 1000)
