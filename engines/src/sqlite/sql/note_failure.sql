-- note_failure: adds a failed attempt to a task's history.
-- ?1 task's key  ?2 number: any that grows  ?3 at  ?4 attempt  ?5 worker  ?6 kind  ?7 message
-- ?8 kind of error, or null
INSERT INTO failure (task, number, at, attempt, worker, kind, message, error_kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
