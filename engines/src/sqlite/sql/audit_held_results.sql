-- audit_held_results: what is kept of deleted tasks, by number, and whether a task holds it.
-- ?1 the number after which to go on, ?2 at most how many
SELECT rowid, EXISTS (SELECT 1 FROM parent WHERE predecessor = held_result.id AND holds = 1) FROM held_result
WHERE rowid > ?1
ORDER BY rowid
LIMIT ?2
