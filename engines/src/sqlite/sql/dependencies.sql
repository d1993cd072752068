-- insert_dependency: a task waits for another.
-- ?1 key of the predecessor  ?2 the revision with which the edge is made  ?3 key of the successor  ?4 policy
INSERT INTO dependency (predecessor, since, successor, policy) VALUES (?1, ?2, ?3, ?4)

-- insert_dependent: how many dependencies a new task has, and how many are signalled already.
-- ?1 key  ?2 total  ?3 signals  ?4 whether the task is spontaneous
INSERT INTO dependent (task, total, signals, spontaneous) VALUES (?1, ?2, ?3, ?4)

-- link_task: notes that a task has dependencies, or that others depend on it.
-- ?1 key
UPDATE task SET linked = 1 WHERE key = ?1 AND linked = 0

-- linked_tasks: those of some tasks that are not over and have dependencies, or others depend on them.
-- ?1 keys of tasks, a JSON array
SELECT key, id FROM task WHERE key IN (SELECT value FROM json_each(?1)) AND linked = 1 AND status < 4 ORDER BY id

-- any_dependent: whether any task has dependencies, or had.
SELECT 1 FROM dependent LIMIT 1

-- count_dependencies: how many dependencies a task has, or had.
-- ?1 key
SELECT total FROM dependent WHERE task = ?1

-- find_dependent: how many dependencies a task has, and how many of them are signalled.
-- ?1 key
SELECT total, signals FROM dependent WHERE task = ?1

-- set_dependencies: a task has another number of dependencies than before.
-- ?1 key  ?2 total
INSERT INTO dependent (task, total, signals) VALUES (?1, ?2, 0)
ON CONFLICT (task) DO UPDATE SET total = ?2

-- wait_for_others: a task that has not started waits for others. Whether a gate holds it back when it is released, its next
-- claim finds out.
-- ?1 key  ?2 revision and position
UPDATE task
SET status = 0, revision = ?2, position = ?2, linked = 1, gate = iif(losses > 1, '!', NULL)
WHERE key = ?1 AND status IN (1, 2)

-- put_link_due: dependencies of a task that later steps store.
-- ?1 key  ?2 its position  ?3 place of the first predecessor  ?4 edges
INSERT INTO link_due (successor, since, place, edges) VALUES (?1, ?2, ?3, ?4)

-- next_link_due: the dependencies to store next.
SELECT number, successor, since, place, edges FROM link_due ORDER BY number LIMIT 1

-- delete_link_due: deletes dependencies that this step stores, or drops.
-- ?1 number
DELETE FROM link_due WHERE number = ?1

-- waits_since: a task that waits since it got this position.
-- ?1 key  ?2 position
SELECT id FROM task WHERE key = ?1 AND position = ?2 AND status = 0

-- any_link_due: whether later steps have dependencies to store.
SELECT 1 FROM link_due LIMIT 1

-- submitted_after: whether a task was submitted later than another.
-- ?1 key  ?2 key of the other
SELECT 1 FROM task WHERE key = ?1 AND submitted_at > (SELECT submitted_at FROM task WHERE key = ?2)

-- last_parent: the last place among the predecessors that a task holds; NULL if it holds none.
-- ?1 key
SELECT max(place) FROM parent WHERE successor = ?1 AND holds = 1

-- dependency_policy: the policy of an edge without a signal, if it exists.
-- ?1 key of the successor  ?2 key of the predecessor
SELECT policy FROM dependency WHERE successor = ?1 AND predecessor = ?2 LIMIT 1

-- waits_for: the tasks that one waits for, in the order of their ids.
-- ?1 key of the successor  ?2 limit
SELECT task.id, dependency.policy FROM dependency JOIN task ON task.key = dependency.predecessor
WHERE dependency.successor = ?1
ORDER BY task.id
LIMIT ?2

-- next_predecessors: the tasks that one waits for.
-- ?1 key  ?2 limit
SELECT predecessor FROM dependency WHERE successor = ?1 LIMIT ?2

-- ended_predecessors: the tasks that one waits for and that are over.
-- ?1 key of the successor
SELECT task.key, task.id, task.status FROM dependency JOIN task ON task.key = dependency.predecessor
WHERE dependency.successor = ?1 AND task.status >= 4

-- successors: the tasks that wait for one, in the order they were taken in.
-- ?1 key of the predecessor  ?2 only edges from before this revision  ?3 limit  ?4 only edges from this revision on
SELECT since, successor, policy FROM dependency
WHERE predecessor = ?1 AND since < ?2 AND since >= ?4
ORDER BY since, successor
LIMIT ?3

-- next_successors: the tasks that wait for one.
-- ?1 key  ?2 limit
SELECT successor FROM dependency WHERE predecessor = ?1 LIMIT ?2

-- pass_successors_on: makes the tasks that waited for one task wait for the one that replaces it.
-- ?1 key of the task  ?2 key of the new one
UPDATE dependency SET predecessor = ?2 WHERE predecessor = ?1

-- count_signals: more dependencies of a task are signalled.
-- ?1 key  ?2 how many
UPDATE dependent SET signals = signals + ?2 WHERE task = ?1

-- count_ends: dependencies of a task are signalled, and others do not count any more, because their tasks were deleted.
-- ?1 key  ?2 how many are signalled  ?3 how many do not count
-- Returns how many are not signalled.
UPDATE dependent SET signals = signals + ?2, total = total - ?3 WHERE task = ?1 RETURNING total - signals

-- note_aborted_by: notes the predecessor whose end aborts a task.
-- ?1 key  ?2 the predecessor's id  ?3 how it ended
UPDATE dependent SET aborted_by = ?2, aborted_end = ?3 WHERE task = ?1

-- is_spontaneous: whether a task ends by itself.
-- ?1 key
SELECT 1 FROM dependent WHERE task = ?1 AND spontaneous = 1

-- release_task: a task that waited for others joins the end of its queue, or waits for its time.
-- ?1 key  ?2 revision and position  ?3 now
-- Returns queue, status and ready_at, or nothing when the task does not wait, or is spontaneous.
UPDATE task
SET status = CASE WHEN ready_at > ?3 THEN 1 ELSE 2 END, revision = ?2, position = ?2, ready_at = max(ready_at, ?3)
WHERE key = ?1 AND status = 0 AND NOT EXISTS (SELECT 1 FROM dependent WHERE task = ?1 AND spontaneous = 1)
RETURNING queue, status, ready_at

-- delete_signalled: deletes the edges of a task that are signalled.
-- ?1 key of the predecessor  ?2 since of the last one  ?3 key of its successor  ?4 only edges from this revision on
DELETE FROM dependency WHERE predecessor = ?1 AND (since, successor) <= (?2, ?3) AND since >= ?4

-- delete_dependencies: deletes the edges of tasks that are over or removed.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM dependency WHERE successor IN (SELECT value FROM json_each(?1))

-- delete_dependents: deletes the dependency counts of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM dependent WHERE task IN (SELECT value FROM json_each(?1))

-- insert_parent: a predecessor of a new task.
-- ?1 key of the task  ?2 place of the predecessor  ?3 its id
INSERT INTO parent (successor, place, predecessor) VALUES (?1, ?2, ?3)

-- parents_of: the predecessors of a task, as its submission named them.
-- ?1 id  ?2 1 to leave out those that it holds no longer
SELECT predecessor FROM parent
WHERE successor = (SELECT key FROM task WHERE id = ?1 AND (?2 = 0 OR status < 4)) AND holds >= ?2
ORDER BY place

-- find_parent: the status and the result of a task that is stored, held, or remembered.
-- ?1 id  ?2 now
SELECT status, result_type, result FROM task WHERE id = ?1
UNION ALL
SELECT status, result_type, result FROM held_result
WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
UNION ALL
SELECT status, NULL, NULL FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
  AND NOT EXISTS (SELECT 1 FROM held_result WHERE held_result.id = ?1)
LIMIT 1

-- held_parents: the predecessors that a task still holds, although it is over.
-- ?1 key
-- Returns the first and the last of their places, and whether the store keeps how any deleted task ended.
SELECT place AS first, (SELECT max(place) FROM parent WHERE successor = ?1 AND holds = 1) AS last,
       EXISTS (SELECT 1 FROM held_result) AS is_any_kept
FROM parent
WHERE successor = ?1 AND holds = 1 AND (SELECT status FROM task WHERE key = ?1) > 3
ORDER BY place
LIMIT 1

-- keep_results: keeps how those of some tasks ended that are to be deleted and that other tasks hold.
-- ?1 keys of tasks, a JSON array
INSERT OR REPLACE INTO held_result (id, status, result_type, result)
SELECT id, status, result_type, result FROM task
WHERE key IN (SELECT value FROM json_each(?1)) AND status > 3
  AND EXISTS (SELECT 1 FROM parent WHERE predecessor = task.id AND holds = 1)

-- release_parents: tasks that are over or removed hold their predecessors no longer.
-- ?1 keys of tasks, a JSON array; or one key
UPDATE parent SET holds = 0 WHERE successor IN (SELECT value FROM json_each(?1)) AND holds = 1

-- release_some_parents: a task that is over holds some of its predecessors no longer.
-- ?1 key  ?2 the first place  ?3 the place after the last
UPDATE parent SET holds = 0 WHERE successor = ?1 AND place >= ?2 AND place < ?3 AND holds = 1

-- delete_parents: deletes the lists of predecessors of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM parent WHERE successor IN (SELECT value FROM json_each(?1))

-- delete_held_result: deletes what is kept of a deleted task.
-- ?1 its number
DELETE FROM held_result WHERE rowid = ?1

-- delete_released: deletes what is kept of the predecessors of tasks, unless other tasks hold them.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM held_result
WHERE id IN (SELECT predecessor FROM parent WHERE successor IN (SELECT value FROM json_each(?1)))
  AND NOT EXISTS (SELECT 1 FROM parent WHERE predecessor = held_result.id AND holds = 1)

-- delete_some_released: deletes what is kept of some predecessors of a task, unless other tasks hold them.
-- ?1 key of the task  ?2 the first place  ?3 the place after the last
DELETE FROM held_result
WHERE id IN (SELECT predecessor FROM parent WHERE successor = ?1 AND place >= ?2 AND place < ?3)
  AND NOT EXISTS (SELECT 1 FROM parent WHERE predecessor = held_result.id AND holds = 1)
