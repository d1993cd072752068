-- is_any_ready: whether a queue has submitted tasks that are not set aside.
-- ?1 queue
SELECT EXISTS (SELECT 1 FROM task WHERE status = 2 AND gate IS NULL AND queue = ?1)

-- is_any_aside: whether a queue has tasks that are set aside.
-- ?1 queue
SELECT EXISTS (SELECT 1 FROM task WHERE status = 2 AND gate IS NOT NULL AND queue = ?1)

-- next_ready: the tasks of a queue that are claimed next, in order, as a worker is handed them.
-- ?1 queue  ?2 limit
SELECT task.key, task.id, task.name, task.version, task.rank, task.overrides, task.attempt, task.crashes,
       task.submitted_at, task.ready_at, task.trace, task.last_span, task.metadata, task.concurrency_key,
       task.parameters_type, coalesce(task.parameters, large_parameters.bytes) AS parameters, checkpoint.type AS checkpoint_type,
       checkpoint.bytes AS checkpoint,
       task.started_at
FROM task
LEFT JOIN large_parameters ON large_parameters.task = task.key
LEFT JOIN checkpoint ON checkpoint.task = task.key
WHERE task.status = 2 AND task.gate IS NULL AND task.queue = ?1
ORDER BY task.rank, task.position
LIMIT ?2

-- ready_task: a submitted task, as a worker is handed it.
-- ?1 key
SELECT task.key, task.id, task.name, task.version, task.rank, task.overrides, task.attempt, task.crashes,
       task.submitted_at, task.ready_at, task.trace, task.last_span, task.metadata, task.concurrency_key,
       task.parameters_type, coalesce(task.parameters, large_parameters.bytes) AS parameters, checkpoint.type AS checkpoint_type,
       checkpoint.bytes AS checkpoint
FROM task
LEFT JOIN large_parameters ON large_parameters.task = task.key
LEFT JOIN checkpoint ON checkpoint.task = task.key
WHERE task.key = ?1 AND task.status = 2

-- claim_task: leases a submitted task to a worker. The revision is its fence.
-- ?1 key  ?2 revision  ?3 now  ?4 worker  ?5 lease_expires_at
UPDATE task
SET status = 3, revision = ?2, fence = ?2, attempt = attempt + 1, started_at = ?3, worker = ?4, lease_expires_at = ?5
WHERE key = ?1 AND status = 2

-- note_heartbeat: stores the heartbeat of a running task, perhaps with its progress.
-- ?1 key  ?2 now  ?3 progress, or NULL to leave it  ?4 progress_message
UPDATE task
SET heartbeat_at = ?2, progress = coalesce(?3, progress), progress_message = iif(?3 IS NULL, progress_message, ?4)
WHERE key = ?1

-- extend_lease: renews a lease, even one that had run out.
-- ?1 key  ?2 lease_expires_at
UPDATE task SET lease_expires_at = ?2 WHERE key = ?1

-- expired_leases: the tasks of a queue whose lease has ended, the longest ago first; ties by key, which needs no sorting.
-- ?1 queue  ?2 now  ?3 limit  ?4 how many to skip
SELECT lease_expires_at, key, id, worker, started_at, blames, losses, ran_s, overrides
FROM task
WHERE status = 3 AND queue = ?1 AND lease_expires_at <= ?2
ORDER BY lease_expires_at, key
LIMIT ?3 OFFSET ?4

-- next_expiry: when the next lease of a queue expires.
-- ?1 queue
SELECT lease_expires_at FROM task WHERE status = 3 AND queue = ?1 ORDER BY lease_expires_at LIMIT 1

-- lose_lease: notes what the loss of its worker means for a started task. Behind the gate `!` it is a ready suspect.
-- ?1 key  ?2 blames to add  ?3 losses in a row  ?4 how many seconds it had run
UPDATE task
SET crashes = crashes + 1, blames = blames + ?2, losses = ?3, ran_s = ?4, gate = iif(?3 > 1, '!', NULL)
WHERE key = ?1

-- lost_task: the fields that count a task whose lease was taken back and that ended.
-- ?1 key
SELECT queue.name AS queue, task.name, version, status, dead_letter FROM task JOIN queue ON queue.key = task.queue WHERE task.key = ?1

-- all_leases: the holder of each lease, and whether its task is suspect.
SELECT worker, losses > 1 AS is_suspect FROM task WHERE status = 3

-- cancel_requests: the tasks of a worker with a cancel request.
-- ?1 worker
SELECT id FROM task WHERE cancel_requested = 1 AND worker = ?1 ORDER BY id

-- workers_asked_to_cancel: the workers that hold a task with a cancel request.
SELECT DISTINCT worker FROM task WHERE cancel_requested = 1

-- note_unknown_task: the table stranger remembers since when workers have not known a task. The first time also notes since when it was
-- ready.
-- ?1 task's key  ?2 now
-- Returns since when that is so.
INSERT INTO stranger (task, since, ready_at) SELECT key, ?2, ready_at FROM task WHERE key = ?1
ON CONFLICT (task) DO UPDATE SET since = since
RETURNING since

-- forget_unknown_task: forgets when a task was first unknown, because a worker knows it or it is gone.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM stranger WHERE task IN (SELECT value FROM json_each(?1))
