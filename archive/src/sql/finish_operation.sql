-- finish_operation: an operation has nothing left to do.
-- ?1 id  ?2 now
UPDATE operation SET finished_at = ?2 WHERE id = ?1 AND finished_at IS NULL
