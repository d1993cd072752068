-- find_signal: a signal of a task.
-- ?1 task  ?2 name
-- Returns its state, and what follows a timeout.
SELECT state, on_timeout FROM external_signal WHERE task = ?1 AND name = ?2
