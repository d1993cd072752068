-- put_loss: notes the loss of a worker.
-- ?1 worker  ?2 when it began  ?3 suspects  ?4 tasks it held
INSERT OR REPLACE INTO worker_loss (worker, at, suspects, leases) VALUES (?1, ?2, ?3, ?4)
