-- find_workflow_definition: the definition of a run.
-- ?1 id
SELECT definition FROM workflow_definition WHERE id = ?1
