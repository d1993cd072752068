-- next_gate: the first gate after another one, by name, behind which a task waits. Suspects wait behind no limit.
-- ?1 queue  ?2 the other one
SELECT gate FROM task WHERE status = 2 AND gate > max(?2, '!') AND queue = ?1 ORDER BY gate LIMIT 1
