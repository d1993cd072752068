-- cancel_operation: notes that an operation was cancelled.
-- ?1 id  ?2 now
UPDATE operation SET cancelled_at = ?2 WHERE id = ?1 AND finished_at IS NULL AND cancelled_at IS NULL
