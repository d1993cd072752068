-- forget_gate_marks: deletes some rate marks that have passed and so have no effect.
-- ?1 queue  ?2 now
DELETE FROM gate_mark
WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_mark WHERE queue = ?1 AND mark <= ?2 ORDER BY mark LIMIT 1000)
