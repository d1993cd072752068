-- next_unlimited_gate: the first gate after another one, by name, that is no limit's and behind which a task waits: `!` for
-- suspects, `?` and a kind for tasks that some workers do not know.
-- ?1 queue  ?2 the other one
SELECT gate FROM task WHERE status = 2 AND gate > ?2 AND gate < '@' AND queue = ?1 ORDER BY gate LIMIT 1
