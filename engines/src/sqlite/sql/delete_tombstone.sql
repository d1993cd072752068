-- delete_tombstone: forgets the id of a task.
-- ?1 id
DELETE FROM tombstone WHERE id = ?1
