-- insert_failure: adds a failure to a task's history unless it is there.
-- ?1 id  ?2 at  ?3 attempt  ?4 worker  ?5 kind  ?6 message  ?7 kind of error, or null
INSERT INTO failure (id, at, attempt, worker, kind, message, error_kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING
