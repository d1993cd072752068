-- delete_draining: ends the drain of a worker, because it may claim again or is gone.
-- ?1 worker
DELETE FROM draining WHERE worker = ?1
