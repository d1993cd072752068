-- signals_due: ends of tasks that are still to be signalled, the oldest first.
-- ?1 limit
SELECT number, predecessor, id, before, status FROM signal_due ORDER BY number LIMIT ?1
