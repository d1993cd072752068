-- find_unlinked: a task that waits and has no edges yet.
-- ?1 id
-- Returns key, position, how many of its dependencies are not signalled, and how many of these are signals from outside.
SELECT task.key, task.position, dependent.total - dependent.signals,
       (SELECT count(*) FROM external_signal WHERE external_signal.task = task.key AND state = 0)
FROM task JOIN dependent ON dependent.task = task.key
WHERE task.id = ?1 AND task.status = 0 AND NOT EXISTS (SELECT 1 FROM dependency WHERE successor = task.key)
