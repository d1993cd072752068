-- delete_worker: forgets a worker.
-- ?1 id
DELETE FROM worker WHERE id = ?1
