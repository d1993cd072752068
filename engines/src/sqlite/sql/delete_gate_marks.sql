-- delete_gate_marks: deletes some rate marks of gates of a queue that is deleted.
-- ?1 queue  ?2 limit
DELETE FROM gate_mark WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_mark WHERE queue = ?1 LIMIT ?2)
