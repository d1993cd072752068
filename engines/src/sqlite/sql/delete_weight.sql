-- delete_weight: forgets what a task weighs.
-- ?1 task
DELETE FROM weight WHERE task = ?1
