-- workflow_revision: the revision of a run.
-- ?1 id
SELECT revision FROM workflow WHERE id = ?1
