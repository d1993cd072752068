-- delete_gates_due: deletes some due gates of a queue that is deleted.
-- ?1 queue  ?2 limit
DELETE FROM gate_due WHERE queue = ?1 AND gate IN (SELECT gate FROM gate_due WHERE queue = ?1 LIMIT ?2)
