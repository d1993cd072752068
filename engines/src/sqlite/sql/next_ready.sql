-- next_ready: the tasks of a queue that are claimed next, in order, as a worker is handed them.
-- ?1 queue  ?2 limit
SELECT task.key, task.id, task.name, task.version, task.rank, task.overrides, task.attempt, task.crashes,
       task.submitted_at, task.ready_at, task.trace, task.last_span, task.labels, task.parameters_type,
       coalesce(task.parameters, large_parameters.bytes), checkpoint.type, checkpoint.bytes,
       task.started_at
FROM task
LEFT JOIN large_parameters ON large_parameters.task = task.key
LEFT JOIN checkpoint ON checkpoint.task = task.key
WHERE task.status = 2 AND task.gate IS NULL AND task.queue = ?1
ORDER BY task.rank, task.position
LIMIT ?2
