-- next_successors: the tasks that wait for one.
-- ?1 key  ?2 limit
SELECT successor FROM dependency WHERE predecessor = ?1 LIMIT ?2
