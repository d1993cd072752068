-- count_leases: how many suspects and how many tasks a worker holds a lease on.
-- ?1 worker
SELECT count(*) FILTER (WHERE suspicion > 0), count(*) FROM task WHERE status = 3 AND worker = ?1
