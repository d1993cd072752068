-- list_workflows: runs, the latest first.
-- ?1 created before this  ?2 or then, with an id before this one  ?3 at most how many
SELECT run, revision FROM workflow WHERE (created_at, id) < (?1, ?2) ORDER BY created_at DESC, id DESC LIMIT ?3
