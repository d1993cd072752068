-- prune_operations: forgets operations that were finished before a point in time.
-- ?1 that point
DELETE FROM operation WHERE finished_at < ?1
