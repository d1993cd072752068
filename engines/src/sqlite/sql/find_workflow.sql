-- find_workflow: a run.
-- ?1 id
SELECT run, revision FROM workflow WHERE id = ?1
