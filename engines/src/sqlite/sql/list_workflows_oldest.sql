-- list_workflows_oldest: runs, the oldest first.
-- ?1 created after this  ?2 or then, with an id after this one  ?3 at most how many
SELECT run, revision FROM workflow WHERE (created_at, id) > (?1, ?2) ORDER BY created_at, id LIMIT ?3
