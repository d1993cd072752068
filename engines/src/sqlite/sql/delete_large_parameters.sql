-- delete_large_parameters: lets the large parameters of a completed task go.
-- ?1 task's key
DELETE FROM large_parameters WHERE task = ?1
