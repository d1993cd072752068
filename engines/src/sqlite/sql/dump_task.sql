-- dump_task: what a backup holds of a task besides the task itself.
-- ?1 id
-- Returns key, fingerprint, position, whether it was the last to take its unique key, until when it holds that, and id and
-- fingerprint of the latest submission that it has become.
SELECT task.key, task.fingerprint, task.position, unique_key.task IS NOT NULL, unique_key.until, unique_key.last_id,
       unique_key.last_fingerprint
FROM task LEFT JOIN unique_key ON unique_key.task = task.key
WHERE task.id = ?1
