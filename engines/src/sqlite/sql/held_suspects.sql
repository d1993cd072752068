-- held_suspects: the suspicion of each suspect that a worker holds a lease on.
-- ?1 worker
SELECT suspicion FROM task WHERE status = 3 AND suspicion > 0 AND worker = ?1
