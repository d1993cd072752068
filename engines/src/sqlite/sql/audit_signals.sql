-- audit_signals: the tasks of signals, and whether each task exists, and waits if it has a signal to wait for.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT found.task, EXISTS (SELECT 1 FROM task WHERE key = found.task AND (status = 0 OR NOT found.is_open))
FROM (SELECT task, max(state = 0) AS is_open FROM external_signal WHERE task > ?1 GROUP BY task ORDER BY task LIMIT ?2)
     AS found
ORDER BY found.task
