-- find_receipt: whether a copy was sent again.
-- ?1 id  ?2 revision
SELECT count(*) FROM receipt WHERE id = ?1 AND revision = ?2
