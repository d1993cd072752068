-- due_schedules: schedules with something to do, the longest due first, and the first one of the future.
-- ?1 at most how many
SELECT entry, revision, next_at FROM schedule WHERE next_at IS NOT NULL ORDER BY next_at, name LIMIT ?1
