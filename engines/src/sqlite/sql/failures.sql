-- failures: a task's failed attempts, oldest first.
-- ?1 task's key
SELECT at, attempt, worker, kind, message, error_kind FROM failure WHERE task = ?1 ORDER BY number
