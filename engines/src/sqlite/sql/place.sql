-- place: the place of a ready task in its queue. Each sum counts one stretch of an index, and compares no row.
-- ?1 id
-- Returns queue, how many come before it, the mark of its queue's rate, its name, its key and its version.
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
            AND before.rank = task.rank AND before.position < task.position),
       queue.rate_mark, task.name, task.concurrency_key, task.version
FROM task
JOIN queue ON queue.key = task.queue
WHERE task.id = ?1 AND task.status = 2
