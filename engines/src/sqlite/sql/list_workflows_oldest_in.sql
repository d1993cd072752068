-- list_workflows_oldest_in: runs in a state, the oldest first.
-- ?1 created after this  ?2 or then, with an id after this one  ?3 at most how many  ?4 state
SELECT run, revision FROM workflow
WHERE state = ?4 AND (created_at, id) > (?1, ?2) ORDER BY created_at, id LIMIT ?3
