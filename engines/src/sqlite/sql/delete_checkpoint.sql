-- delete_checkpoint: of a task that is gone.
-- ?1 task
DELETE FROM checkpoint WHERE task = ?1
