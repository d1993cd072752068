-- find_key: the task that took a unique key last.
-- ?1 name  ?2 key
-- Returns the task's key, id, queue and status, its uniqueness constraint, until when it holds the key, and id and fingerprint
-- of the latest submission that it has become.
SELECT task.key, task.id, task.queue, task.status, uniqueness.said, unique_key.until, unique_key.last_id,
       unique_key.last_fingerprint
FROM unique_key
JOIN task ON task.key = unique_key.task
JOIN uniqueness ON uniqueness.task = unique_key.task
WHERE unique_key.name = ?1 AND unique_key.key = ?2
