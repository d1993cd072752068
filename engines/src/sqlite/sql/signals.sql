-- insert_signal: a signal that a task waits for, or waited for.
-- ?1 task  ?2 name  ?3 on_timeout  ?4 timeout  ?5 due  ?6 state  ?7 at
INSERT INTO external_signal (task, name, on_timeout, timeout, due, state, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)

-- find_signal: a signal of a task.
-- ?1 task  ?2 name
-- Returns its state, and what follows a timeout.
SELECT state, on_timeout FROM external_signal WHERE task = ?1 AND name = ?2

-- signals_of_task: the signals of a task, by their names.
-- ?1 task
SELECT name, state, timeout, due, on_timeout, at FROM external_signal WHERE task = ?1 ORDER BY name

-- find_unlinked: a task that waits and has no edges yet.
-- ?1 id
-- Returns key, position, how many of its dependencies are not signalled, and how many of these are signals from outside.
SELECT task.key, task.position, dependent.total - dependent.signals AS open,
       (SELECT count(*) FROM external_signal WHERE external_signal.task = task.key AND state = 0) AS external
FROM task JOIN dependent ON dependent.task = task.key
WHERE task.id = ?1 AND task.status = 0 AND NOT EXISTS (SELECT 1 FROM dependency WHERE successor = task.key)
      AND NOT EXISTS (SELECT 1 FROM link_due WHERE successor = task.key)

-- any_signal_due: whether ends are left that later steps signal.
SELECT 1 FROM signal_due LIMIT 1

-- begin_timeouts: begins the timeouts of a task's signals, if it waits for no other task.
-- ?1 task  ?2 now
UPDATE external_signal SET due = ?2 + timeout
WHERE task = ?1 AND state = 0 AND due IS NULL AND timeout IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM dependency WHERE successor = ?1)
      AND NOT EXISTS (SELECT 1 FROM link_due WHERE successor = ?1)

-- late_signals: signals that have not come in time, the longest due first.
-- ?1 now  ?2 limit
SELECT late.task, late.name, late.on_timeout
FROM (SELECT task, name, on_timeout, due FROM external_signal
      WHERE state = 0 AND due IS NOT NULL AND due <= ?1 ORDER BY due, task, name LIMIT ?2) AS late
     JOIN task ON task.key = late.task
ORDER BY late.due, task.id, late.name

-- end_signal: ends a signal that a task waits for.
-- ?1 task  ?2 name  ?3 state  ?4 now
UPDATE external_signal SET state = ?3, at = ?4 WHERE task = ?1 AND name = ?2 AND state = 0

-- drop_signals: a task has ended: the signals that it still waited for are not needed.
-- ?1 task  ?2 now
UPDATE external_signal SET state = 3, at = ?2 WHERE task = ?1 AND state = 0

-- delete_signals: deletes the signals of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM external_signal WHERE task IN (SELECT value FROM json_each(?1))

-- keep_signal: keeps a signal for a task that does not exist yet, if it is kept already or there is room.
-- ?1 task's id  ?2 name  ?3 until  ?4 how many are kept at most
-- Returns until when it is kept.
INSERT INTO kept_signal (task, name, until)
SELECT ?1, ?2, ?3
WHERE (SELECT count(*) FROM kept_signal) < ?4 OR EXISTS (SELECT 1 FROM kept_signal WHERE task = ?1 AND name = ?2)
ON CONFLICT (task, name) DO UPDATE SET until = max(until, excluded.until)
RETURNING until

-- take_kept_signal: forgets a signal that was kept for a task.
-- ?1 task's id  ?2 name
-- Returns until when it was kept.
DELETE FROM kept_signal WHERE task = ?1 AND name = ?2 RETURNING until

-- forget_kept_signals: forgets signals that were kept for tasks in vain.
-- ?1 now
DELETE FROM kept_signal WHERE until <= ?1

-- put_signal_due: the end of a task is still to be signalled to some of its successors, or the task still holds
-- predecessors.
-- ?1 key  ?2 id  ?3 only edges from before this revision; 0 for none  ?4 status  ?5 only edges from this revision on
INSERT INTO signal_due (predecessor, id, before, status, from_since) VALUES (?1, ?2, ?3, ?4, ?5)

-- signalled_before: up to which edges earlier ends of a task are still to be signalled; 0 if all are.
-- ?1 key
SELECT coalesce(max(before), 0) FROM signal_due WHERE predecessor = ?1

-- signals_due: ends of tasks that earlier steps left, in the order in which they were put off.
-- ?1 limit
SELECT number, predecessor, id, before, status, from_since FROM signal_due ORDER BY number LIMIT ?1

-- delete_signal_due: deletes an end that this step continues.
-- ?1 number
DELETE FROM signal_due WHERE number = ?1
