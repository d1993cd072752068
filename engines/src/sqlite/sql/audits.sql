-- audit_board: the counts of the first board after a key, and what is there.
-- ?1 the board after which to go on
SELECT key, name, revision, created - deleted AS counted,
       (SELECT count(*) FROM board_task t WHERE t.board = b.key) AS found,
       (SELECT coalesce(max(revision), 0) FROM board_task t WHERE t.board = b.key) AS highest
FROM board b
WHERE key > ?1
ORDER BY key
LIMIT 1

-- audit_board_groups: groups of a board whose count is not what is there.
-- ?1 board  ?2 at most how many
SELECT name, tasks, found
FROM (SELECT name, tasks,
             (SELECT count(*) FROM board_task t WHERE t.board = g.board AND t.group_name = g.name) AS found
      FROM board_group g
      WHERE board = ?1)
WHERE tasks <> found OR found = 0
ORDER BY name
LIMIT ?2

-- audit_board_labels: of which tasks of boards labels are stored, and whether those are there.
-- ?1 the task after which to go on, ?2 at most how many
SELECT DISTINCT task AS subject, EXISTS (SELECT 1 FROM board_task WHERE key = board_label.task) AS may_stay FROM board_label
WHERE task > ?1
ORDER BY task
LIMIT ?2

-- audit_board_tasks: tasks of boards, and whether their boards and groups are there.
-- ?1 the task after which to go on, ?2 at most how many
SELECT t.key, t.revision, t.board, b.name, t.labels,
       EXISTS (SELECT 1 FROM board_group g WHERE g.board = t.board AND g.name = t.group_name) AS has_group
FROM board_task t LEFT JOIN board b ON b.key = t.board
WHERE t.key > ?1
ORDER BY t.key
LIMIT ?2

-- audit_bytes: for a queue that limits bytes: the counted bytes, the sum over its tasks, and how many tasks have a wrong count: that do
-- not wait there, lack a count though the walk is over, or have another number of bytes.
-- ?1 queue
SELECT waiting_bytes AS counted,
       (SELECT coalesce(sum(bytes), 0) FROM weight WHERE weight.queue = ?1) AS sum,
       (SELECT count(*) FROM weight JOIN task ON task.key = weight.task
        WHERE weight.queue = ?1 AND (task.queue <> ?1 OR task.status >= 3 OR weight.bytes <> coalesce(
            length(task.parameters), (SELECT length(bytes) FROM large_parameters WHERE task = task.key), 0)))
     + (SELECT count(*)
        FROM (SELECT key FROM task WHERE task.queue = ?1 AND status = 0
              UNION ALL SELECT key FROM task WHERE task.queue = ?1 AND status = 1
              UNION ALL SELECT key FROM task WHERE task.queue = ?1 AND status = 2 AND gate IS NULL
              UNION ALL SELECT key FROM task WHERE task.queue = ?1 AND status = 2 AND gate IS NOT NULL) AS waiting
        WHERE queue.weighed IS NULL AND NOT EXISTS (SELECT 1 FROM weight WHERE weight.task = waiting.key)) AS wrong
FROM queue WHERE key = ?1

-- audit_checkpoints: the tasks of checkpoints, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = checkpoint.task) AS may_stay FROM checkpoint
WHERE task > ?1
ORDER BY task
LIMIT ?2

-- audit_counts: by status, how many tasks of a queue are tallied and how many there are. One arm per stretch of a partial
-- index: an arm that no index covers would read all tasks of the store.
-- ?1 queue
SELECT status, sum(tallied) AS tallied, sum(found) AS found
FROM (
    SELECT status, tasks AS tallied, 0 AS found FROM tally WHERE queue = ?1
    UNION ALL
    SELECT 0, 0, count(*) FROM task WHERE queue = ?1 AND status = 0
    UNION ALL
    SELECT 1, 0, count(*) FROM task WHERE queue = ?1 AND status = 1
    UNION ALL
    SELECT 2, 0, count(*) FROM task WHERE queue = ?1 AND status = 2 AND gate IS NULL
    UNION ALL
    SELECT 2, 0, count(*) FROM task WHERE queue = ?1 AND status = 2 AND gate IS NOT NULL
    UNION ALL
    SELECT 3, 0, count(*) FROM task WHERE queue = ?1 AND status = 3
    UNION ALL
    SELECT status, 0, count(*) FROM task WHERE queue = ?1 AND status >= 4 GROUP BY status
)
GROUP BY status
HAVING sum(tallied) <> sum(found)

-- audit_dependencies: the tasks of edges, and whether each task exists and waits.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT successor AS subject, EXISTS (SELECT 1 FROM task WHERE key = dependency.successor AND status = 0) AS may_stay FROM dependency
WHERE successor > ?1
GROUP BY successor
ORDER BY successor
LIMIT ?2

-- audit_dependents: the tasks of dependency counts, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = dependent.task) AS may_stay FROM dependent
WHERE task > ?1
ORDER BY task
LIMIT ?2

-- audit_failures: the tasks of failures, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = failure.task) AS may_stay FROM failure
WHERE task > ?1
GROUP BY task
ORDER BY task
LIMIT ?2

-- audit_held_results: what is kept of deleted tasks, by number, and whether a task holds it.
-- ?1 the number after which to go on, ?2 at most how many
SELECT rowid AS subject, EXISTS (SELECT 1 FROM parent WHERE predecessor = held_result.id AND holds = 1) AS may_stay FROM held_result
WHERE rowid > ?1
ORDER BY rowid
LIMIT ?2

-- audit_holders: the tasks of lists of predecessors, and whether each is not over, holds none, or is to let them go later.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT successor AS subject, max(holds) = 0 OR NOT EXISTS (SELECT 1 FROM task WHERE key = parent.successor AND status > 3)
                  OR EXISTS (SELECT 1 FROM signal_due WHERE predecessor = parent.successor) AS may_stay
FROM parent
WHERE successor > ?1
GROUP BY successor
ORDER BY successor
LIMIT ?2

-- audit_large_parameters: the tasks of large parameters, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = large_parameters.task) AS may_stay FROM large_parameters
WHERE task > ?1
ORDER BY task
LIMIT ?2

-- audit_parents: the tasks of lists of predecessors, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT successor AS subject, EXISTS (SELECT 1 FROM task WHERE key = parent.successor) AS may_stay FROM parent
WHERE successor > ?1
GROUP BY successor
ORDER BY successor
LIMIT ?2

-- audit_signals: the tasks of signals, and whether each task exists, and waits if it has a signal to wait for.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT found.task AS subject, EXISTS (SELECT 1 FROM task WHERE key = found.task AND (status = 0 OR NOT found.is_open)) AS may_stay
FROM (SELECT task, max(state = 0) AS is_open FROM external_signal WHERE task > ?1 GROUP BY task ORDER BY task LIMIT ?2)
     AS found
ORDER BY found.task

-- audit_unknown_tasks: the tasks that were given back as unknown, and whether each exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = stranger.task) AS may_stay FROM stranger
WHERE task > ?1
ORDER BY task
LIMIT ?2

-- audit_tables: the next table of the file, in the order of names.
-- ?1 the name of the one before
SELECT name FROM sqlite_schema WHERE type = 'table' AND name > ?1 ORDER BY name LIMIT 1

-- audit_tasks: a piece of all tasks, whether one has lost the parameters it still needs, and whether it waits for others.
-- ?1 the key after which to go on, ?2 at most how many
SELECT key, id, queue,
       parameters IS NULL AND status <> 4 AND NOT EXISTS (SELECT 1 FROM large_parameters WHERE task = key)
           AS lacks_parameters,
       status = 0 AS waits
FROM task
WHERE key > ?1
ORDER BY key
LIMIT ?2

-- audit_unique_keys: the tasks that took unique keys, and whether each exists.
-- ?1 the task after which to go on, ?2 at most how many tasks
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE task.key = unique_key.task) AS may_stay FROM unique_key
WHERE task > ?1
GROUP BY task
ORDER BY task
LIMIT ?2

-- audit_uniqueness: the tasks of uniqueness constraints, and whether each task exists.
-- ?1 the task after which to go on, ?2 at most how many
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = uniqueness.task) AS may_stay FROM uniqueness
WHERE task > ?1
ORDER BY task
LIMIT ?2

-- audit_waiting: what a waiting task waits for.
-- ?1 key
-- Returns its dependencies, those that are signalled, its edges with the signals from outside that it waits for, and how
-- many edges no end will signal: their predecessor is gone or over, and that is not still to be signalled.
SELECT coalesce((SELECT total FROM dependent WHERE task = ?1), 0) AS total,
       coalesce((SELECT signals FROM dependent WHERE task = ?1), 0) AS signals,
       count(*) + (SELECT count(*) FROM external_signal WHERE task = ?1 AND state = 0)
           + (SELECT coalesce(sum(json_array_length(edges)), 0) FROM link_due WHERE successor = ?1) AS edges,
       coalesce(sum(NOT EXISTS (SELECT 1 FROM task WHERE key = edge.predecessor AND status < 4)
                AND NOT EXISTS (SELECT 1 FROM signal_due AS due
                                WHERE due.predecessor = edge.predecessor AND edge.since < due.before)), 0) AS lost
FROM dependency AS edge
WHERE edge.successor = ?1

-- audit_weights: the tasks with counted bytes, and whether each exists.
-- ?1 after this task  ?2 limit
SELECT task AS subject, EXISTS (SELECT 1 FROM task WHERE key = weight.task) AS may_stay FROM weight WHERE task > ?1 ORDER BY task LIMIT ?2
