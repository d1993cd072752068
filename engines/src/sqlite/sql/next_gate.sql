-- next_gate: the first gate of a limit after another one, by name, behind which a task waits. Suspects (`!`) and tasks of kinds
-- that some workers do not know (`?`) wait behind no limit.
-- ?1 queue  ?2 the other one
SELECT gate FROM task WHERE status = 2 AND gate > max(?2, '@') AND queue = ?1 ORDER BY gate LIMIT 1
