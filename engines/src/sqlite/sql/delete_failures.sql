-- delete_failures: of a task that is gone.
-- ?1 task
DELETE FROM failure WHERE task = ?1
