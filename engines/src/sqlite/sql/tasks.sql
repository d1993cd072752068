-- insert_task: takes a task in, unless its id is taken.
-- ?1 id  ?2 fingerprint  ?3 name  ?4 version  ?5 queue  ?6 rank  ?7 status  ?8 revision and position  ?9 submitted_at
-- ?10 ready_at  ?11 overrides  ?12 trace  ?13 parameters_type  ?14 parameters  ?15 concurrency_key  ?16 id_is_chosen
-- Changes one row, or none when the id is taken.
INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, submitted_at, ready_at,
                  overrides, trace, parameters_type, parameters, concurrency_key,
                  id_is_chosen)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
ON CONFLICT (id) DO NOTHING

-- insert_restored: stores a task that another store held. Its gate is `!` if it is suspected of killing workers.
-- ?1 id  ?2 fingerprint  ?3 name  ?4 version  ?5 queue  ?6 rank  ?7 status  ?8 revision  ?9 position  ?10 attempt  ?11 crashes
-- ?12 blames  ?13 losses  ?14 submitted_at  ?15 ready_at  ?16 started_at  ?17 heartbeat_at  ?18 completed_at  ?19 worker
-- ?20 dead_letter  ?21 progress  ?22 progress_message  ?23 overrides  ?24 trace  ?25 last_span  ?26 parameters_type
-- ?27 parameters  ?28 result_type  ?29 result  ?30 concurrency_key  ?31 id_is_chosen  ?32 linked  ?33 metadata  ?34 ran_s
INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, attempt, crashes, blames,
                  losses, submitted_at, ready_at, started_at, heartbeat_at, completed_at, worker, dead_letter,
                  progress, progress_message, overrides, trace, last_span, parameters_type, parameters, result_type,
                  result, concurrency_key, id_is_chosen, linked, metadata, ran_s, gate)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25,
        ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, iif(?13 > 1, '!', NULL))

-- set_metadata: stores the metadata of a new task.
-- ?1 key  ?2 metadata
UPDATE task SET metadata = ?2 WHERE key = ?1

-- insert_large_parameters: parameters over 1 KiB, beside their task.
-- ?1 task's key  ?2 bytes
INSERT INTO large_parameters (task, bytes) VALUES (?1, ?2)

-- find_submission: the task that has taken an id, and the fingerprint of its submission.
-- ?1 id
SELECT key, queue, status, fingerprint FROM task WHERE id = ?1

-- find_task: what a verb must know of a task before it moves it.
-- ?1 id
SELECT key, queue, status, fence, attempt, worker, cancel_requested, parameters IS NULL AS has_large_parameters,
       linked, overrides, started_at
FROM task WHERE id = ?1

-- get_task: everything of a task but its failed attempts.
-- ?1 id
SELECT key, id, id_is_chosen, name, version, queue, rank, status, revision, overrides, attempt, crashes, blames, losses, ran_s, submitted_at, ready_at,
       started_at, heartbeat_at, completed_at, worker, fence, lease_expires_at, cancel_requested = 1 AS cancel_requested, progress,
       progress_message, dead_letter, trace, last_span,
       parameters_type, coalesce(parameters, (SELECT bytes FROM large_parameters WHERE task = key)) AS parameters,
       result_type, result,
       (SELECT type FROM checkpoint WHERE task = key) AS checkpoint_type,
       (SELECT bytes FROM checkpoint WHERE task = key) AS checkpoint,
       (SELECT said FROM uniqueness WHERE task = key) AS said, concurrency_key, metadata,
       CASE linked WHEN 1 THEN (SELECT total FROM dependent WHERE task = key) END AS total,
       CASE linked WHEN 1 THEN (SELECT signals FROM dependent WHERE task = key) END AS signals,
       CASE WHEN linked = 1 AND status = 7 THEN (SELECT aborted_by FROM dependent WHERE task = key) END AS aborted_by,
       CASE WHEN linked = 1 AND status = 7 THEN (SELECT aborted_end FROM dependent WHERE task = key) END AS aborted_end,
       CASE linked WHEN 1 THEN (SELECT spontaneous FROM dependent WHERE task = key) END AS spontaneous
FROM task
WHERE id = ?1

-- dump_task: what a backup holds of a task besides the task itself.
-- ?1 id
-- `has_key`: it was the last to take its unique key, and holds it until `until`; `last_id`, `last_fingerprint`: the latest
-- submission that it has become.
SELECT task.key, task.fingerprint, task.position, unique_key.task IS NOT NULL AS has_key, unique_key.until, unique_key.last_id,
       unique_key.last_fingerprint
FROM task LEFT JOIN unique_key ON unique_key.task = task.key
WHERE task.id = ?1

-- task_id: the id of a task.
-- ?1 key
SELECT id FROM task WHERE key = ?1

-- is_at_revision: whether a task has not moved since it had a revision.
-- ?1 key  ?2 revision
SELECT 1 FROM task WHERE key = ?1 AND revision = ?2

-- is_finished: whether a task is over; no row if it does not exist.
-- ?1 id
SELECT status >= 4 FROM task WHERE id = ?1

-- find_waiting: what must be known of a waiting task before it ends.
-- ?1 key
SELECT id, queue, parameters IS NULL AS has_large_parameters FROM task WHERE key = ?1 AND status = 0

-- find_ended: what must be known of a task before it is sent again.
-- ?1 id
SELECT key, queue, status, revision FROM task WHERE id = ?1

-- find_replaced: what a task keeps that becomes what another submission says.
-- ?1 key
SELECT id, fingerprint, submitted_at, id_is_chosen FROM task WHERE key = ?1

-- set_parameters: gives a task other parameters; another statement sets those in a side table.
-- ?1 key  ?2 type  ?3 bytes, or NULL when they are in a side table
UPDATE task SET parameters_type = ?2, parameters = ?3 WHERE key = ?1

-- move_task: a task that waits for its turn is in another queue, at the place it had among those of its priority. Whether
-- a gate of that queue holds it back, its next claim will tell.
-- ?1 key  ?2 queue  ?3 revision
UPDATE task SET queue = ?2, revision = ?3, gate = iif(losses > 1, '!', NULL) WHERE key = ?1

-- movable_tasks: the tasks of a queue that wait for their turn, those that are next in line first.
-- ?1 queue  ?2 limit
SELECT key, status FROM (
    SELECT * FROM (
        SELECT key, status, rank, position FROM task WHERE status = 2 AND gate IS NULL AND queue = ?1
        UNION ALL SELECT key, status, rank, position FROM task WHERE status = 2 AND gate IS NOT NULL AND queue = ?1
        ORDER BY rank, position LIMIT ?2)
    UNION ALL SELECT * FROM (
        SELECT key, status, 0, 0 FROM task WHERE status = 1 AND queue = ?1 ORDER BY ready_at, id LIMIT ?2)
    UNION ALL SELECT * FROM (
        SELECT key, status, 0, 0 FROM task WHERE status = 0 AND queue = ?1 ORDER BY position LIMIT ?2))
LIMIT ?2

-- unclaimed_tasks: the tasks of a queue that wait for their turn at one of three statuses.
-- ?1 queue  ?2 limit
SELECT key, status, id FROM (
    SELECT key, status, id FROM task WHERE status = 2 AND gate IS NULL AND queue = ?1
    UNION ALL SELECT key, status, id FROM task WHERE status = 1 AND queue = ?1
    UNION ALL SELECT key, status, id FROM task WHERE status = 0 AND queue = ?1
    UNION ALL SELECT key, status, id FROM task WHERE status = 2 AND gate IS NOT NULL AND queue = ?1)
LIMIT ?2

-- due_tasks: the scheduled tasks of a queue whose time has come, the longest due first.
-- ?1 queue  ?2 now  ?3 limit  ?4 how many to skip
SELECT ready_at, id, key FROM task WHERE status = 1 AND queue = ?1 AND ready_at <= ?2 ORDER BY ready_at, id LIMIT ?3 OFFSET ?4

-- next_due: when the next scheduled task of a queue is due.
-- ?1 queue
SELECT ready_at FROM task WHERE status = 1 AND queue = ?1 ORDER BY ready_at, id LIMIT 1

-- promote_task: a scheduled task joins the end of its queue. One that was given back with a delay by workers that do not know
-- it is ready since it was before.
-- ?1 key  ?2 revision and position
UPDATE task
SET status = 2, revision = ?2, position = ?2,
    ready_at = coalesce((SELECT stranger.ready_at FROM stranger WHERE stranger.task = ?1), ready_at)
WHERE key = ?1 AND status = 1

-- reschedule_task: a scheduled task gets another time.
-- ?1 key  ?2 ready_at  ?3 revision
UPDATE task SET ready_at = ?2, revision = ?3 WHERE key = ?1 AND status = 1

-- request_cancel: marks a running task; whatever is settled for it afterwards makes it cancelled.
-- ?1 key
UPDATE task SET cancel_requested = 1 WHERE key = ?1

-- requeue_task: a started task goes back to its queue, at once or later.
-- ?1 key  ?2 status  ?3 revision  ?4 ready_at; NULL keeps it and the task's place  ?5 attempts that do not count
-- ?6 the attempt's span; NULL keeps that of an earlier one  ?7 whether it ran, and is no longer suspect
UPDATE task
SET status = ?2, revision = ?3, position = iif(?4 IS NULL, position, ?3), ready_at = coalesce(?4, ready_at),
    attempt = attempt - ?5, fence = NULL, lease_expires_at = NULL, heartbeat_at = NULL, progress = NULL,
    progress_message = NULL, last_span = coalesce(?6, last_span),
    losses = iif(?7, 0, losses), ran_s = iif(?7, 0, ran_s), gate = iif(?7, NULL, gate)
WHERE key = ?1

-- end_task: a task is over. A completed one lets its parameters go if they are longer than its queue keeps. A `cancel_requested` of 2: its cancel was requested when
-- its lease was settled.
-- ?1 key  ?2 status  ?3 revision  ?4 now  ?5 the fence that settled it, or NULL  ?6 dead_letter
-- ?7 the attempt's span; NULL keeps that of an earlier one  ?8 result_type  ?9 result
-- ?10 how many bytes of parameters a completed one keeps
UPDATE task
SET status = ?2, revision = ?3, completed_at = ?4, fence = ?5, dead_letter = ?6, lease_expires_at = NULL,
    cancel_requested = iif(cancel_requested = 1 AND ?5 IS NOT NULL, 2, 0), losses = 0, ran_s = 0, last_span = coalesce(?7, last_span), result_type = ?8, result = ?9,
    parameters = CASE WHEN ?2 = 4 AND length(parameters) NOT BETWEEN 1 AND ?10 THEN NULL ELSE parameters END
WHERE key = ?1

-- completed_at: when a task was over.
-- ?1 key
SELECT completed_at FROM task WHERE key = ?1

-- resubmit_task: a task that is over is in a queue again. It no longer expires.
-- ?1 key  ?2 queue  ?3 revision and position  ?4 now  ?5 whether attempts, crashes and time are counted from the start
UPDATE task
SET queue = ?2, status = 2, revision = ?3, position = ?3, ready_at = ?4, completed_at = NULL, fence = NULL,
    dead_letter = 0, heartbeat_at = NULL, progress = NULL, progress_message = NULL, result_type = NULL, result = NULL,
    attempt = iif(?5, 0, attempt), crashes = iif(?5, 0, crashes), blames = iif(?5, 0, blames),
    submitted_at = iif(?5, ?4, submitted_at), cancel_requested = 0, gate = NULL,
    overrides = json_remove(overrides, '$.expires_in')
WHERE key = ?1

-- restore_task: creates a task again from a copy, in its queue.
-- ?1 id  ?2 fingerprint  ?3 name  ?4 version  ?5 queue  ?6 rank  ?7 revision and position  ?8 attempt  ?9 crashes
-- ?10 submitted_at  ?11 now  ?12 started_at  ?13 worker  ?14 overrides  ?15 trace  ?16 last_span
-- ?17 concurrency_key  ?18 blames  ?19 id_is_chosen  ?20 metadata
INSERT INTO task (id, fingerprint, name, version, queue, rank, status, revision, position, attempt, crashes,
                  submitted_at, ready_at, started_at, worker, overrides, trace, last_span, concurrency_key,
                  blames, id_is_chosen, metadata)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 2, ?7, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)

-- note_failure: adds a failed attempt to a task's history.
-- ?1 task's key  ?2 number: any that grows  ?3 at  ?4 attempt  ?5 worker  ?6 kind  ?7 message
-- ?8 kind of error, or null
INSERT INTO failure (task, number, at, attempt, worker, kind, message, error_kind)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)

-- failures: a task's failed attempts, oldest first.
-- ?1 task's key
SELECT at, attempt, worker, kind, message, error_kind FROM failure WHERE task = ?1 ORDER BY number

-- latest_failure: a task's latest failed attempt.
-- ?1 task's key
SELECT at, attempt, worker, kind, message, error_kind FROM failure WHERE task = ?1 ORDER BY number DESC LIMIT 1

-- trim_failures: forgets all but the latest failed attempts of a task.
-- ?1 task's key  ?2 how many to keep
DELETE FROM failure
WHERE task = ?1 AND number <= (SELECT number FROM failure WHERE task = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)

-- save_checkpoint: stores the checkpoint for the task's next attempt.
-- ?1 task's key  ?2 type  ?3 bytes
INSERT INTO checkpoint (task, type, bytes) VALUES (?1, ?2, ?3)
ON CONFLICT (task) DO UPDATE SET type = excluded.type, bytes = excluded.bytes

-- any_chosen: whether a client chose the id of any of these tasks.
-- ?1 keys of tasks, a JSON array
SELECT EXISTS (SELECT 1 FROM task WHERE key IN (SELECT value FROM json_each(?1)) AND id_is_chosen)

-- side_tables: which tables beside `task` hold anything, by their names.
SELECT EXISTS (SELECT 1 FROM large_parameters) AS large_parameters, EXISTS (SELECT 1 FROM checkpoint) AS checkpoint,
       EXISTS (SELECT 1 FROM failure) AS failure, EXISTS (SELECT 1 FROM stranger) AS stranger,
       EXISTS (SELECT 1 FROM uniqueness) AS uniqueness, EXISTS (SELECT 1 FROM unique_key) AS unique_key,
       EXISTS (SELECT 1 FROM weight) AS weight, EXISTS (SELECT 1 FROM dependency) AS dependency,
       EXISTS (SELECT 1 FROM dependent) AS dependent, EXISTS (SELECT 1 FROM external_signal) AS external_signal,
       EXISTS (SELECT 1 FROM parent) AS parent

-- delete_tasks: deletes tasks. Other statements delete their side records.
-- ?1 keys, a JSON array
DELETE FROM task WHERE key IN (SELECT value FROM json_each(?1))

-- let_large_parameters_go: a task completed, and its large parameters are longer than its queue keeps.
-- ?1 key  ?2 how many bytes it keeps
DELETE FROM large_parameters WHERE task = ?1 AND length(bytes) > ?2

-- delete_large_parameters: deletes the large parameters of tasks that are removed.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM large_parameters WHERE task IN (SELECT value FROM json_each(?1))

-- delete_failures: deletes the failures of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM failure WHERE task IN (SELECT value FROM json_each(?1))

-- delete_checkpoint: deletes the checkpoints of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM checkpoint WHERE task IN (SELECT value FROM json_each(?1))
