-- find_tombstone: what is remembered of a pruned task; nothing of an id that is stored again.
-- ?1 id  ?2 now
-- Returns queue, status, finished_at, forget_at, fingerprint.
SELECT queue, status, finished_at, forget_at, fingerprint FROM tombstone
WHERE id = ?1 AND forget_at > ?2 AND NOT EXISTS (SELECT 1 FROM task WHERE task.id = ?1)
