-- put_draining: asks a worker to claim nothing more.
-- ?1 worker  ?2 now
INSERT INTO draining (worker, since) VALUES (?1, ?2)
