-- running_operations: operations that are not finished, the oldest first.
SELECT id, request, created_at, finished_at FROM operation WHERE finished_at IS NULL ORDER BY created_at
