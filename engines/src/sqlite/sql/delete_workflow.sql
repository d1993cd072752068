-- delete_workflow: deletes a run.
-- ?1 id
DELETE FROM workflow WHERE id = ?1
