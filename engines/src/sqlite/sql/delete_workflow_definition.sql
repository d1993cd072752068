-- delete_workflow_definition: deletes the definition of a run.
-- ?1 id
DELETE FROM workflow_definition WHERE id = ?1
