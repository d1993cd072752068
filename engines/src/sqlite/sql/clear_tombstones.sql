-- clear_tombstones: makes room for the tombstones of tasks that are about to be deleted.
-- ?1 keys of tasks, a JSON array
DELETE FROM tombstone WHERE id IN (SELECT id FROM task WHERE key IN (SELECT value FROM json_each(?1)) AND id_is_chosen)
