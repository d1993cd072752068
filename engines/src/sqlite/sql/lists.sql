-- list_task: a task as lists show it: without parameters, checkpoint, result and failed attempts.
-- ?1 key
SELECT key, id, id_is_chosen, name, version, queue, rank, status, revision, overrides, attempt, crashes, blames, losses, ran_s, submitted_at, ready_at,
       started_at, heartbeat_at, completed_at, worker, fence, lease_expires_at, cancel_requested = 1 AS cancel_requested, progress,
       progress_message, dead_letter, trace, last_span,
       NULL AS parameters_type, NULL AS parameters,
       NULL AS result_type, NULL AS result,
       NULL AS checkpoint_type, NULL AS checkpoint,
       (SELECT said FROM uniqueness WHERE task = key) AS said, concurrency_key, metadata,
       CASE linked WHEN 1 THEN (SELECT total FROM dependent WHERE task = key) END AS total,
       CASE linked WHEN 1 THEN (SELECT signals FROM dependent WHERE task = key) END AS signals,
       CASE WHEN linked = 1 AND status = 7 THEN (SELECT aborted_by FROM dependent WHERE task = key) END AS aborted_by,
       CASE WHEN linked = 1 AND status = 7 THEN (SELECT aborted_end FROM dependent WHERE task = key) END AS aborted_end,
       CASE linked WHEN 1 THEN (SELECT spontaneous FROM dependent WHERE task = key) END AS spontaneous
FROM task
WHERE key = ?1

-- list_submitted: the submitted tasks of a queue after a place, in the order of claiming, those behind a gate among them.
-- ?1 queue  ?2, ?3, ?4 the place: rank, position, and one that does not matter  ?5 limit
SELECT key, rank AS major, position AS minor, '' AS id FROM task
WHERE status = 2 AND gate IS NULL AND queue = ?1 AND (rank, position, ?4) > (?2, ?3, ?4)
UNION ALL
SELECT key, rank, position, '' FROM task
WHERE status = 2 AND gate IS NOT NULL AND queue = ?1 AND (rank, position, ?4) > (?2, ?3, ?4)
ORDER BY rank, position LIMIT ?5

-- list_scheduled: the scheduled tasks of a queue after a place, next due first.
-- ?1 queue  ?2, ?3, ?4 the place: ready_at, one that does not matter, id  ?5 limit
SELECT key, ready_at AS major, 0 AS minor, id FROM task
WHERE status = 1 AND queue = ?1 AND (ready_at, id, ?3) > (?2, ?4, ?3)
ORDER BY ready_at, id LIMIT ?5

-- list_waiting: the waiting tasks of a queue after a place, in the order they came.
-- ?1 queue  ?2, ?3, ?4 the place: position, and two that do not matter  ?5 limit
SELECT key, position AS major, 0 AS minor, '' AS id FROM task
WHERE status = 0 AND queue = ?1 AND (position, ?3, ?4) > (?2, ?3, ?4)
ORDER BY position LIMIT ?5

-- list_started: the started tasks of a queue after a place, oldest claim first.
-- ?1 queue  ?2, ?3, ?4 the place: fence, and two that do not matter  ?5 limit
SELECT key, fence AS major, 0 AS minor, '' AS id FROM task
WHERE status = 3 AND queue = ?1 AND (fence, ?3, ?4) > (?2, ?3, ?4)
ORDER BY fence LIMIT ?5

-- finished_latest: the tasks of a queue that ended in one way, the latest first.
-- ?1 queue  ?2 status  ?3 revision to stay below  ?4 limit
SELECT revision, key FROM task
WHERE status >= 4 AND queue = ?1 AND status = ?2 AND revision < ?3
ORDER BY revision DESC LIMIT ?4

-- finished_oldest: the tasks of a queue that ended in one way, the oldest first.
-- ?1 queue  ?2 status  ?3 revision to stay above  ?4 limit
SELECT revision, key FROM task
WHERE status >= 4 AND queue = ?1 AND status = ?2 AND revision > ?3
ORDER BY revision LIMIT ?4

-- latest_runs: of all queues and ways to end, those that hold the latest finished tasks, the latest first.
-- ?1 statuses, bit n for the status n  ?2 revision to stay below  ?3 limit
SELECT queue, status
FROM (SELECT queue, status, (SELECT revision FROM task
                             WHERE task.status >= 4 AND task.queue = tally.queue AND task.status = tally.status
                               AND task.revision < ?2
                             ORDER BY revision DESC LIMIT 1) AS head
      FROM tally WHERE status >= 4 AND tasks > 0 AND (?1 >> status) & 1)
WHERE head IS NOT NULL
ORDER BY head DESC LIMIT ?3

-- oldest_runs: of all queues and ways to end, those that hold the oldest finished tasks, the oldest first.
-- ?1 statuses, bit n for the status n  ?2 revision to stay above  ?3 limit
SELECT queue, status
FROM (SELECT queue, status, (SELECT revision FROM task
                             WHERE task.status >= 4 AND task.queue = tally.queue AND task.status = tally.status
                               AND task.revision > ?2
                             ORDER BY revision LIMIT 1) AS head
      FROM tally WHERE status >= 4 AND tasks > 0 AND (?1 >> status) & 1)
WHERE head IS NOT NULL
ORDER BY head LIMIT ?3

-- place: the place of a ready task in its queue. Each sum counts one stretch of an index, and compares no row.
-- ?1 id
-- Returns queue, how many come before it, the mark of its queue's rate, its name, its key, its version and its losses in a row.
SELECT task.queue,
       (SELECT count(*) FROM task AS before
        WHERE before.status = 2 AND before.gate IS NULL AND before.queue = task.queue
          AND before.rank < task.rank)
       + (SELECT count(*) FROM task AS before
          WHERE before.status = 2 AND before.gate IS NULL AND before.queue = task.queue
            AND before.rank = task.rank AND before.position < task.position)
       + (SELECT count(*) FROM task AS before
          WHERE before.status = 2 AND before.gate IS NOT NULL AND before.queue = task.queue
            AND before.rank < task.rank)
       + (SELECT count(*) FROM task AS before
          WHERE before.status = 2 AND before.gate IS NOT NULL AND before.queue = task.queue
            AND before.rank = task.rank AND before.position < task.position) AS ahead,
       queue.rate_mark, task.name, task.concurrency_key, task.version, task.losses
FROM task
JOIN queue ON queue.key = task.queue
WHERE task.id = ?1 AND task.status = 2

-- oldest_ready: when the task that has been ready longest became so: the earliest of the fronts of the ten priorities, of
-- the tasks that are claimed next and of those behind a gate together.
-- ?1 queue
SELECT min(ready_at)
FROM (SELECT (SELECT ready_at
              FROM (SELECT * FROM (SELECT ready_at, position FROM task
                                   WHERE status = 2 AND gate IS NULL AND queue = ?1 AND rank = ranks.column1
                                   ORDER BY position LIMIT 1)
                    UNION ALL
                    SELECT * FROM (SELECT ready_at, position FROM task
                                   WHERE status = 2 AND gate IS NOT NULL AND queue = ?1 AND rank = ranks.column1
                                   ORDER BY position LIMIT 1))
              ORDER BY position LIMIT 1) AS ready_at
      FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS ranks)
