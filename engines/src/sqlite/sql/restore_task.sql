-- restore_task: creates a task again from a copy, in its queue.
-- ?1 id  ?2 fingerprint  ?3 name  ?4 version  ?5 queue  ?6 rank  ?7 revision and position  ?8 attempt  ?9 crashes
-- ?10 submitted_at  ?11 now  ?12 started_at  ?13 worker  ?14 overrides  ?15 trace  ?16 last_span
-- ?17 concurrency_key  ?18 blames  ?19 id_is_chosen  ?20 labels
INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, attempt, crashes,
                  submitted_at, ready_at, started_at, worker, overrides, trace, last_span, concurrency_key,
                  blames, id_is_chosen, labels)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 2, ?7, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
