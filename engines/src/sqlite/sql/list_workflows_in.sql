-- list_workflows_in: runs in a state, the latest first.
-- ?1 created before this  ?2 or then, with an id before this one  ?3 at most how many  ?4 state
SELECT run, revision FROM workflow
WHERE state = ?4 AND (created_at, id) < (?1, ?2) ORDER BY created_at DESC, id DESC LIMIT ?3
