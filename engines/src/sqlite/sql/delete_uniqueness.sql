-- delete_uniqueness: of a task that is gone.
-- ?1 task
DELETE FROM uniqueness WHERE task = ?1
