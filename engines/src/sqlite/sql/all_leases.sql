-- all_leases: the holder of each lease, and how suspect its task is.
SELECT worker, suspicion FROM task WHERE status = 3
