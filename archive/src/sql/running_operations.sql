-- running_operations: operations that are not finished, the oldest first.
SELECT id, request, cancelled_at IS NOT NULL FROM operation WHERE finished_at IS NULL ORDER BY created_at
