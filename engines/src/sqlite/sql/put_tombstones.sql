-- put_tombstones: remembers finished tasks that are about to be deleted, if their clients chose their ids.
-- ?1 keys of tasks, a JSON array  ?2 how long, in microseconds  ?3 now
INSERT INTO tombstone (id, fingerprint, queue, status, finished_at, forget_at)
SELECT task.id, fingerprint, queue.name, status, completed_at, completed_at + ?2
FROM task JOIN queue ON queue.key = task.queue
WHERE task.key IN (SELECT value FROM json_each(?1)) AND id_is_chosen AND completed_at + ?2 > ?3
