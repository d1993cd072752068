-- signals_due: ends of tasks that earlier steps left, in the order in which they were put off.
-- ?1 limit
SELECT number, predecessor, id, before, status FROM signal_due ORDER BY number LIMIT ?1
