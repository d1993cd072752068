-- next_predecessors: the tasks that one waits for.
-- ?1 key  ?2 limit
SELECT predecessor FROM dependency WHERE successor = ?1 LIMIT ?2
