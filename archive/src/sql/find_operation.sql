-- find_operation: one operation.
-- ?1 id
SELECT id, request, created_at, finished_at, cancelled_at FROM operation WHERE id = ?1
