-- audit_bytes: for a queue that limits bytes: the counted bytes, the sum over its tasks, and how many tasks have a wrong count: that do
-- not wait there, lack a count though the walk is over, or have another number of bytes.
-- ?1 queue
SELECT waiting_bytes,
       (SELECT coalesce(sum(bytes), 0) FROM weight WHERE weight.queue = ?1),
       (SELECT count(*) FROM weight JOIN task ON task.key = weight.task
        WHERE weight.queue = ?1 AND (task.queue <> ?1 OR task.status >= 3 OR weight.bytes <> coalesce(
            length(task.parameters), (SELECT length(bytes) FROM large_parameters WHERE task = task.key), 0)))
     + (SELECT count(*)
        FROM (SELECT key FROM task WHERE task.queue = ?1 AND status = 0
              UNION ALL SELECT key FROM task WHERE task.queue = ?1 AND status = 1
              UNION ALL SELECT key FROM task WHERE task.queue = ?1 AND status = 2 AND gate IS NULL
              UNION ALL SELECT key FROM task WHERE task.queue = ?1 AND status = 2 AND gate IS NOT NULL) AS waiting
        WHERE queue.weighed IS NULL AND NOT EXISTS (SELECT 1 FROM weight WHERE weight.task = waiting.key))
FROM queue WHERE key = ?1
