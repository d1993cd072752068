-- is_at_revision: whether a task has not moved since it had a revision.
-- ?1 key  ?2 revision
SELECT 1 FROM task WHERE key = ?1 AND revision = ?2
