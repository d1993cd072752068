-- ready_task: a submitted task, as a worker is handed it.
-- ?1 key
SELECT task.key, task.id, task.name, task.version, task.rank, task.overrides, task.attempt, task.crashes,
       task.submitted_at, task.ready_at, task.trace, task.last_span, task.labels, task.parameters_type,
       coalesce(task.parameters, large_parameters.bytes), checkpoint.type, checkpoint.bytes
FROM task
LEFT JOIN large_parameters ON large_parameters.task = task.key
LEFT JOIN checkpoint ON checkpoint.task = task.key
WHERE task.key = ?1 AND task.status = 2
