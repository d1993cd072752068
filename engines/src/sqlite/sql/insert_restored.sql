-- insert_restored: stores a task that another store held. Its gate is `!` if it is suspected of killing workers.
-- ?1 id  ?2 fingerprint  ?3 name  ?4 version  ?5 queue  ?6 rank  ?7 status  ?8 revision  ?9 position  ?10 attempt  ?11 crashes
-- ?12 blames  ?13 suspicion  ?14 submitted_at  ?15 ready_at  ?16 started_at  ?17 heartbeat_at  ?18 completed_at  ?19 worker
-- ?20 dead_letter  ?21 progress  ?22 progress_message  ?23 overrides  ?24 trace  ?25 last_span  ?26 parameters_type
-- ?27 parameters  ?28 result_type  ?29 result  ?30 concurrency_key  ?31 id_is_chosen  ?32 linked  ?33 labels
INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, attempt, crashes, blames,
                  suspicion, submitted_at, ready_at, started_at, heartbeat_at, completed_at, worker, dead_letter,
                  progress, progress_message, overrides, trace, last_span, parameters_type, parameters, result_type,
                  result, concurrency_key, id_is_chosen, linked, labels, gate)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,
        ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, iif(?13 > 0, '!', NULL))
