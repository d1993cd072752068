-- insert_letter: inserts a letter unless it exists. Changes one row or none.
-- ?1 id  ?2 revision  ?3 queue  ?4 name  ?5 version  ?6 status  ?7 failed_at  ?8 attempt  ?9 worker  ?10 kind  ?11 error
-- ?12 fingerprint  ?13 copy
INSERT INTO letter (id, revision, queue, name, version, status, failed_at, attempt, worker, kind, error, fingerprint,
                    state, copy)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'dead', ?13)
ON CONFLICT DO NOTHING
