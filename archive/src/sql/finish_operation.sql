-- finish_operation: marks an operation as finished.
-- ?1 id  ?2 now
UPDATE operation SET finished_at = ?2 WHERE id = ?1 AND finished_at IS NULL
