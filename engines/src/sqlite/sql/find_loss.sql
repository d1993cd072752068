-- find_loss: the latest loss of a worker.
-- ?1 worker
-- Returns when it began, and how many suspects and tasks the worker held.
SELECT at, suspects, leases FROM worker_loss WHERE worker = ?1
