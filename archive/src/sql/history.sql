-- history: every failure of a task, the oldest first.
-- ?1 id
SELECT at, attempt, worker, kind, message, error_kind FROM failure WHERE id = ?1 ORDER BY at, attempt
