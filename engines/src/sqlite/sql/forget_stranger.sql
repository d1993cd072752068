-- forget_stranger: somebody knows the task.
-- ?1 task's key
DELETE FROM stranger WHERE task = ?1
