-- due_gates: gates that may let tasks pass by now, the longest due first.
-- ?1 queue  ?2 now  ?3 limit
SELECT gate FROM gate_due WHERE queue = ?1 AND due <= ?2 ORDER BY due, gate LIMIT ?3
