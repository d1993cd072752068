-- ended_predecessors: the tasks that one waits for and that are over.
-- ?1 key of the successor
SELECT task.key, task.id, task.status FROM dependency JOIN task ON task.key = dependency.predecessor
WHERE dependency.successor = ?1 AND task.status >= 4
