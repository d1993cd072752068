-- waits_for: the tasks that one waits for, in the order of their ids.
-- ?1 key of the successor  ?2 limit
SELECT task.id, dependency.policy FROM dependency JOIN task ON task.key = dependency.predecessor
WHERE dependency.successor = ?1
ORDER BY task.id
LIMIT ?2
