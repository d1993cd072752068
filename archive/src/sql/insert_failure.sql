-- insert_failure: adds to a task's history what is not yet in it.
-- ?1 id  ?2 at  ?3 attempt  ?4 worker  ?5 kind  ?6 message  ?7 kind of error, or null
INSERT INTO failure (id, at, attempt, worker, kind, message, error_kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING
