-- is_cancelled: whether an operation was cancelled.
-- ?1 id
SELECT count(*) > 0 FROM operation WHERE id = ?1 AND cancelled_at IS NOT NULL
