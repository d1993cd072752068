-- due_workflows: runs with something to do, the longest due first, and the first one of the future.
-- ?1 at most how many
SELECT run, revision, next_at FROM workflow WHERE next_at IS NOT NULL ORDER BY next_at, id LIMIT ?1
