-- insert_task: takes a task in, unless its id is taken.
-- ?1 id  ?2 fingerprint  ?3 name  ?4 version  ?5 queue  ?6 rank  ?7 status  ?8 revision and position  ?9 submitted_at
-- ?10 ready_at  ?11 overrides  ?12 trace  ?13 parameters_type  ?14 parameters  ?15 concurrency_key  ?16 id_is_chosen
-- Changes one row, or none when the id is taken.
INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, submitted_at, ready_at,
                  overrides, trace, parameters_type, parameters, concurrency_key,
                  id_is_chosen)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
ON CONFLICT (id) DO NOTHING
