-- signals_of_task: the signals of a task, by their names.
-- ?1 task
SELECT name, state, timeout, due, on_timeout, at FROM external_signal WHERE task = ?1 ORDER BY name
