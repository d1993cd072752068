-- forget_losses: forgets losses of workers that began before a time.
-- ?1 the time
DELETE FROM worker_loss WHERE at < ?1
