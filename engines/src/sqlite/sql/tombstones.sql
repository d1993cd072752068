-- put_tombstones: remembers finished tasks that are about to be deleted, if their clients chose their ids.
-- ?1 keys of tasks, a JSON array  ?2 how long, in microseconds  ?3 now
INSERT INTO tombstone (id, fingerprint, queue, status, finished_at, forget_at)
SELECT task.id, fingerprint, queue.name, status, completed_at, completed_at + ?2
FROM task JOIN queue ON queue.key = task.queue
WHERE task.key IN (SELECT value FROM json_each(?1)) AND id_is_chosen AND completed_at + ?2 > ?3

-- find_tombstone: what is remembered of a pruned task; nothing of an id that is stored again.
-- ?1 id  ?2 now
-- Returns queue, status, finished_at, forget_at, fingerprint.
SELECT queue, status, finished_at, forget_at, fingerprint FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)

-- task_status: the status of a task that is stored, or was pruned and is remembered.
-- ?1 id  ?2 now
SELECT status FROM task WHERE id = ?1
UNION ALL
SELECT status FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
LIMIT 1

-- task_times: when a task last started and when it was over; of one that was pruned and is remembered only its end.
-- ?1 id  ?2 now
SELECT started_at, completed_at FROM task WHERE id = ?1
UNION ALL
SELECT NULL, finished_at FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
LIMIT 1

-- delete_tombstone: forgets the id of a task.
-- ?1 id
DELETE FROM tombstone WHERE id = ?1

-- count_tombstones: how many tombstones there are, and when one was last forgotten before its time.
SELECT count, cut_at FROM tombstones

-- note_tombstones: counts tombstones that were added and deleted.
-- ?1 change of the count  ?2 when one was forgotten before its time, or NULL
UPDATE tombstones SET count = count + ?1, cut_at = coalesce(?2, cut_at)

-- clear_tombstones: makes room for the tombstones of tasks that are about to be deleted.
-- ?1 keys of tasks, a JSON array
DELETE FROM tombstone WHERE id IN (SELECT id FROM task WHERE key IN (SELECT value FROM json_each(?1)) AND id_is_chosen)

-- sweep_tombstones: deletes tombstones whose time is over, the oldest first.
-- ?1 now  ?2 limit
DELETE FROM tombstone WHERE id IN (SELECT id FROM tombstone WHERE forget_at <= ?1 ORDER BY forget_at LIMIT ?2)

-- cut_tombstones: deletes the oldest tombstones, whatever their time.
-- ?1 how many
DELETE FROM tombstone WHERE id IN (SELECT id FROM tombstone ORDER BY forget_at LIMIT ?1)
