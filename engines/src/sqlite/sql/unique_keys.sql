-- take_key: gives a task a unique key, whichever task had it.
-- ?1 name  ?2 key  ?3 task  ?4 until  ?5 last_id  ?6 last_fingerprint
INSERT INTO unique_key (name, key, task, until, last_id, last_fingerprint) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (name, key) DO UPDATE
SET task = excluded.task, until = excluded.until, last_id = excluded.last_id, last_fingerprint = excluded.last_fingerprint

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

-- insert_uniqueness: stores the uniqueness constraint of a submission.
-- ?1 task  ?2 said
INSERT INTO uniqueness (task, said) VALUES (?1, ?2)

-- find_uniqueness: the uniqueness constraint of a task's submission.
-- ?1 task
-- Returns the task's name, and what was said.
SELECT task.name, uniqueness.said FROM uniqueness JOIN task ON task.key = uniqueness.task WHERE uniqueness.task = ?1

-- delete_unique_keys: deletes the unique keys of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM unique_key WHERE task IN (SELECT value FROM json_each(?1))

-- delete_uniqueness: deletes the uniqueness constraints of removed tasks.
-- ?1 keys of tasks, a JSON array; or one key
DELETE FROM uniqueness WHERE task IN (SELECT value FROM json_each(?1))
