-- is_cancelled: whether an operation is to be stopped.
-- ?1 id
SELECT count(*) > 0 FROM operation WHERE id = ?1 AND cancelled_at IS NOT NULL
