-- delete_draining: a worker may claim again, or is gone.
-- ?1 worker
DELETE FROM draining WHERE worker = ?1
